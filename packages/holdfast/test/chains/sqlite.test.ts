// Chains on SQLite, in a file, with a table of the user's in the same database.

import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SqliteStorage, type SqliteTransaction } from 'holdfast/sqlite'
import { quickFolder } from '../drivers.ts'
import { writeDatabase } from '../sqlite-database.ts'
import { chainTests } from './suites.ts'

chainTests({
  name: 'sqlite',
  open: async () => {
    const directory = await mkdtemp(join(quickFolder, 'holdfast-chains-'))
    const path = join(directory, 'jobs.db')
    await writeDatabase(path)
    const storage = new SqliteStorage({ path })
    const db = new DatabaseSync(path, { timeout: 1_000 })
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE orders (id TEXT NOT NULL)')
    return {
      storage,
      rows: {
        add: async (tx, id) => {
          ;(tx as SqliteTransaction).database.prepare('INSERT INTO orders VALUES (?)').run(id)
        },
        ids: async () =>
          (db.prepare('SELECT id FROM orders ORDER BY id').all() as { id: string }[]).map(({ id }) => id),
      },
      close: async () => {
        db.close()
        await rm(directory, { recursive: true, force: true })
      },
    }
  },
})
