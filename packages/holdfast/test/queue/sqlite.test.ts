// The Queue on SQLite, in a file.

import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { SqliteStorage } from 'holdfast/sqlite'
import { quickFolder } from '../drivers.ts'
import { queueTests } from './suites.ts'

queueTests({
  name: 'sqlite',
  transactions: true,
  open: async () => {
    const directory = await mkdtemp(join(quickFolder, 'holdfast-sqlite-'))
    const storage = new SqliteStorage({ path: join(directory, 'jobs.db') })
    return { storage, close: () => rm(directory, { recursive: true, force: true }) }
  },
})
