// The Queue on files.

import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { FileStorage } from 'holdfast/file'
import { quickFolder } from '../drivers.ts'
import { queueTests } from './suites.ts'

queueTests({
  name: 'file',
  open: async () => {
    const directory = await mkdtemp(join(quickFolder, 'holdfast-file-'))
    return {
      storage: new FileStorage({ directory }),
      // Retried: a process that stops after this one may still write.
      close: () => rm(directory, { recursive: true, force: true, maxRetries: 50, retryDelay: 10 }),
    }
  },
})
