// A cluster of three primaries and three replicas. Whether each script keeps to its slot is tested by model.test.ts, too.

import { after } from 'node:test'
import { drivers } from '../drivers.ts'
import { stopPlaces } from '../redis-places.ts'
import { testOtherWay } from './other-way.ts'

after(stopPlaces)

await testOtherWay({ name: 'cluster, ioredis', every: 6, turn: 2, create: () => drivers.cluster!('ioredis') })
