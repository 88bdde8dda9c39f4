// The Queue on a Redis Cluster of three primaries and three replicas: a Cluster client for each test, and a prefix of its own.

import { after } from 'node:test'
import { RedisStorage } from 'holdfast/redis'
import { placeOf, stopPlaces } from '../redis-places.ts'
import { queueTests } from './suites.ts'

let prefixes = 0

after(stopPlaces)

queueTests({
  name: 'cluster',
  open: async () => {
    const { options, close } = await (await placeOf('cluster')).way('iovalkey')
    return { storage: new RedisStorage({ ...options, prefix: `queue-${++prefixes}` }), close: async () => close() }
  },
})
