// Every client library, passed in by the user, on one server and on a cluster. They differ in how a call is sent and
// how a hint returns, so each runs the cases about that, and a different tenth of all others. To run all cases:
// `npm run conformance -- --driver cluster --client ioredis5`.

import { after, test } from 'node:test'
import { testStorage } from '../../../conformance/src/index.ts'
import { type ClientName, type PlaceName, stopPlaces } from '../redis-places.ts'
import { redisSubject } from '../redis-subject.ts'

after(stopPlaces)

const ways: readonly (readonly [PlaceName, ClientName])[] = [
  ['redis', 'iovalkey'],
  ['redis', 'ioredis'],
  ['redis', 'ioredis5'],
  ['cluster', 'iovalkey'],
  ['cluster', 'ioredis5'],
]

for (const [turn, [place, client]] of ways.entries()) {
  let [seen, taken] = [0, 0]
  await testStorage({
    create: () => redisSubject(place, client),
    test: (name, run) => {
      if (seen++ % 10 !== turn && !/^(connect|listen): /.test(name)) return
      taken++
      test(`${place}, ${client}: ${name}`, run)
    },
  })
  test('the number of cases', (context) => context.diagnostic(`conformance: ${place}, ${client}: ${taken} cases`))
}
