// The Queue on Redis: a private server for the file, and a prefix of its own for each test.

import { RedisStorage } from 'holdfast/redis'
import { sharedRedis } from '../redis-subject.ts'
import { queueTests } from './suites.ts'

let prefixes = 0

queueTests({
  name: 'redis',
  open: async () => {
    const { url } = await sharedRedis()
    return { storage: new RedisStorage({ url, prefix: `queue-${++prefixes}` }), close: async () => {} }
  },
})
