// The Queue on a Redis Cluster of three primaries and three replicas: a Cluster client for each test, and a prefix of its own.

import { after } from 'node:test'
import { RedisStorage } from 'holdfast/redis'
import { placeOf, stopPlaces } from '../redis-places.ts'
import { otherWayTests } from './suites.ts'

let prefixes = 0
const closes: (() => void)[] = []

after(stopPlaces)

otherWayTests({
  name: 'cluster',
  open: async () => {
    // By a later test: what stops after the `close` of its own would wait for a client that is closed.
    if (closes.length > 5) closes.shift()!()
    const { options, close } = await (await placeOf('cluster')).way('iovalkey')
    closes.push(close)
    return { storage: new RedisStorage({ ...options, prefix: `queue-${++prefixes}` }), close: async () => {} }
  },
})
