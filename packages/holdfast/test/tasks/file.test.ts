// Tasks on file.

import { after } from 'node:test'
import { stopServers, processDrivers } from '../processes/drivers.ts'
import { taskTests } from './suites.ts'

after(stopServers)

await taskTests(processDrivers.file)
