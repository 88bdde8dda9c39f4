// Databases for the suites on SQLite. To create the tables takes longer than most cases do, so a process does it once, and each case
// gets a copy. The steps that create them have tests of their own (storage/sqlite/migrations.test.ts, open.test.ts).

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SqliteStorage } from '../src/storage/sqlite/index.ts'
import { quickFolder } from './quick-folder.ts'

let template: Promise<Buffer> | undefined

/** Writes an empty database, with its tables. */
export async function writeDatabase(path: string): Promise<void> {
  await writeFile(path, await (template ??= makeTemplate()))
}

async function makeTemplate(): Promise<Buffer> {
  const directory = await mkdtemp(join(quickFolder, 'holdfast-template-'))
  try {
    const path = join(directory, 'jobs.db')
    const storage = new SqliteStorage({ path })
    await storage.connect()
    // The last connection moves everything from the write-ahead log to the file.
    await storage.disconnect()
    return await readFile(path)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
