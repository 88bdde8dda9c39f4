// Chains on files.

import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { FileStorage } from 'holdfast/file'
import { quickFolder } from '../drivers.ts'
import { chainTests } from './suites.ts'

chainTests({
  name: 'file',
  open: async () => {
    const directory = await mkdtemp(join(quickFolder, 'holdfast-chains-'))
    return {
      storage: new FileStorage({ directory }),
      // With retries: a worker that stops later may still write.
      close: () => rm(directory, { recursive: true, force: true, maxRetries: 50, retryDelay: 10 }),
    }
  },
})
