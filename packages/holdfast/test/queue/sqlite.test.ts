// The Queue on SQLite, in a file.

import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { SqliteStorage } from 'holdfast/sqlite'
import { quickFolder } from '../drivers.ts'
import { writeDatabase } from '../sqlite-database.ts'
import { queueTests } from './suites.ts'

queueTests({
  name: 'sqlite',
  transactions: true,
  open: async () => {
    const directory = await mkdtemp(join(quickFolder, 'holdfast-sqlite-'))
    const path = join(directory, 'jobs.db')
    await writeDatabase(path)
    const storage = new SqliteStorage({ path })
    return { storage, close: () => rm(directory, { recursive: true, force: true }) }
  },
})
