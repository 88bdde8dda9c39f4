import { after, test } from 'node:test'
import { testStorage } from '../../../conformance/src/index.ts'
import { drivers } from '../drivers.ts'
import { stopPlaces } from '../redis-places.ts'

after(stopPlaces)

const count = await testStorage({ test, create: () => drivers.cluster!('ioredis') })

test('the number of cases', (context) => context.diagnostic(`conformance: cluster: ${count} cases`))
