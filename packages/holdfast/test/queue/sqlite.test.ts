// The Queue on SQLite, in a file.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteStorage } from 'holdfast/sqlite'
import { queueTests } from './suites.ts'

queueTests({
  name: 'sqlite',
  transactions: true,
  open: async () => {
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'))
    const storage = new SqliteStorage({ path: join(directory, 'jobs.db') })
    return { storage, close: () => rm(directory, { recursive: true, force: true }) }
  },
})
