// The sending side with jobs on Redis and tables on SQLite. In test:all only: the tables are those of sqlite.test.ts, and the jobs
// are stored by a driver that conforms.

import { after } from 'node:test'
import { RedisStorage } from 'holdfast/redis'
import { startRedis } from '../../../../servers/redis.ts'
import { isFull } from '../../../holdfast/test/full-size.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { seedTests } from './suite.ts'

if (isFull) {
  const redis = await startRedis()
  after(() => redis.stop())
  let prefixes = 0

  await seedTests({
    name: 'redis',
    open: async () => {
      const storage = new RedisStorage({ url: redis.url, prefix: `case${++prefixes}` })
      return { storage, store: sqliteStore({ path: ':memory:' }), close: async () => {} }
    },
  })
}
