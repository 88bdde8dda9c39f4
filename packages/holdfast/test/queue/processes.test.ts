// The Queue over several processes, on each driver that they can share.

import { after, before, describe } from 'node:test'
import { stopServers, processDrivers } from '../processes/drivers.ts'
import { compileFirst, processTests } from './processes.ts'

before(compileFirst)
after(stopServers)

// Side by side: most of it is that something waits.
describe('the Queue', { concurrency: 2 }, () => {
  for (const name of ['file', 'sqlite', 'redis', 'postgres'] as const) processTests(processDrivers[name])
})
