// Redis for the suites: one private server for each test file, a prefix of its own for each case, and a clock that is set by
// hand: the scripts ask a key for the time, and nothing expires but by their own rules.

import { after } from 'node:test'
import { type RedisServer, startRedis } from '../../../servers/redis.ts'
import type { Subject } from '../src/conformance/index.ts'
import { RedisStorage } from '../src/storage/redis/redis-storage.ts'
import { makeScripts } from '../src/storage/redis/scripts.ts'

const start = 1_767_225_600_000

/** In the slot of the data, and outside of what clear() deletes. */
const clockKey = (prefix: string): string => `clock:{${prefix}}:`

const manualTimeScripts = makeScripts(`
local now, expires = tonumber(redis.call('GET', 'clock:' .. KEYS[1]) or ${start}), false
`)

let server: Promise<RedisServer> | undefined
let prefixes = 0

// Of the file, not of the test that asks first.
after(async () => (await server)?.stop())

/** Started by the first who asks, ended with the file. */
export const sharedRedis = (): Promise<RedisServer> => (server ??= startRedis())

export async function redisSubject(): Promise<Subject> {
  const { url, connect } = await sharedRedis()
  const prefix = `case-${++prefixes}`
  const open = (): RedisStorage => new RedisStorage({ url, prefix }, manualTimeScripts)
  const others: RedisStorage[] = []
  let now = start
  return {
    storage: open(),
    advance: async (ms) => {
      const clock = await connect()
      await clock.send('SET', clockKey(prefix), String((now += ms)))
      clock.close()
    },
    another: async () => {
      const other = open()
      others.push(other)
      await other.connect()
      return other
    },
    close: async () => {
      for (const other of others) await other.disconnect()
    },
  }
}
