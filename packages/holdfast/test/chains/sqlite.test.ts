// Chains on SQLite, in a file.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteStorage } from 'holdfast/sqlite'
import { chainTests } from './suites.ts'

chainTests({
  name: 'sqlite',
  open: async () => {
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-chains-'))
    const storage = new SqliteStorage({ path: join(directory, 'jobs.db') })
    return { storage, close: () => rm(directory, { recursive: true, force: true }) }
  },
})
