// Chains on Redis: a private server for the file, and a prefix of its own for each test.

import { after } from 'node:test'
import { RedisStorage } from 'holdfast/redis'
import { placeOf, stopPlaces } from '../redis-places.ts'
import { chainTests } from './suites.ts'

let prefixes = 0

after(stopPlaces)

chainTests({
  name: 'redis',
  open: async () => {
    const { options, close } = await (await placeOf('redis')).way()
    return { storage: new RedisStorage({ ...options, prefix: `chains-${++prefixes}` }), close: async () => close() }
  },
})
