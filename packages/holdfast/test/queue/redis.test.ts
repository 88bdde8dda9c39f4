// The Queue on Redis: a private server for the file, and a prefix of its own for each test.

import { after } from 'node:test'
import { RedisStorage } from 'holdfast/redis'
import { placeOf, stopPlaces } from '../redis-places.ts'
import { queueTests } from './suites.ts'

let prefixes = 0

after(stopPlaces)

queueTests({
  name: 'redis',
  open: async () => {
    const { options, close } = await (await placeOf('redis')).way()
    return { storage: new RedisStorage({ ...options, prefix: `queue-${++prefixes}` }), close: async () => close() }
  },
})
