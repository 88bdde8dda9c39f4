// The Queue over several processes, on each driver that they can share.

import { after, describe } from 'node:test'
import { stopServers, taskDrivers } from '../tasks/drivers.ts'
import { processTests } from './processes.ts'

after(stopServers)

// Side by side: most of it is that something waits.
describe('the Queue', { concurrency: 2 }, () => {
  for (const name of ['file', 'sqlite', 'redis', 'postgres'] as const) processTests(taskDrivers[name])
})
