// Tasks on file.

import { after } from 'node:test'
import { stopPlaces } from '../redis-places.ts'
import { taskDrivers } from './drivers.ts'
import { taskTests } from './suites.ts'

after(stopPlaces)

await taskTests(taskDrivers.file)
