// Every client library, passed in by the user, on one server and on a cluster. They differ in how a call is sent and
// how a hint returns. To run all cases: `npm run conformance -- --driver cluster --client ioredis5`.

import { after } from 'node:test'
import { type ClientName, type PlaceName, stopPlaces } from '../redis-places.ts'
import { redisSubject } from '../redis-subject.ts'
import { testOtherWay } from './other-way.ts'

after(stopPlaces)

const ways: readonly (readonly [PlaceName, ClientName])[] = [
  ['redis', 'iovalkey'],
  ['redis', 'ioredis'],
  ['redis', 'ioredis5'],
  ['cluster', 'iovalkey'],
  ['cluster', 'ioredis5'],
]

for (const [turn, [place, client]] of ways.entries()) {
  await testOtherWay({ name: `${place}, ${client}`, every: 30, turn, create: () => redisSubject(place, client) })
}
