// Where jobs are kept, on each driver that keeps them.

import { after } from 'node:test'
import { stopServers, processDrivers } from '../processes/drivers.ts'
import { placeTests } from './places.ts'

after(stopServers)

for (const name of ['file', 'sqlite', 'redis', 'postgres'] as const) placeTests(processDrivers[name])
