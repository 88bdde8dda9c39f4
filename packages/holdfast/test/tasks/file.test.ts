// Tasks on file.

import { after } from 'node:test'
import { stopServers, taskDrivers } from './drivers.ts'
import { taskTests } from './suites.ts'

after(stopServers)

await taskTests(taskDrivers.file)
