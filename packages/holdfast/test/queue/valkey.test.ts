// The Queue on Valkey, where there is one.

import { after, test } from 'node:test'
import { RedisStorage } from 'holdfast/redis'
import { findValkey } from '../../../../servers/find.ts'
import { placeOf, stopPlaces } from '../redis-places.ts'
import { queueTests } from './suites.ts'

let prefixes = 0

after(stopPlaces)

if (findValkey()) {
  queueTests({
    name: 'valkey',
    open: async () => {
      const { options, close } = await (await placeOf('valkey')).way()
      return { storage: new RedisStorage({ ...options, prefix: `queue-${++prefixes}` }), close: async () => close() }
    },
  })
} else {
  test('the Queue on Valkey', { skip: 'VALKEY_SERVER is not set: expected the path of a valkey-server' }, () => {})
}
