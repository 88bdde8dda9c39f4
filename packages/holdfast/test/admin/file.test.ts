// The admin handle on files.

import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { FileStorage } from 'holdfast/file'
import { quickFolder } from '../drivers.ts'
import { adminTests } from './admin-tests.ts'

adminTests({
  name: 'file',
  open: async () => {
    const directory = await mkdtemp(join(quickFolder, 'holdfast-admin-'))
    return {
      storage: new FileStorage({ directory }),
      close: () => rm(directory, { recursive: true, force: true, maxRetries: 50, retryDelay: 10 }),
    }
  },
})
