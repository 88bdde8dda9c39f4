// Redis for the suites. Each case has a prefix of its own and a clock that is set by hand: the scripts read the time from a
// key, and only their own rules expire anything.

import type { RespClient } from '../../../servers/resp.ts'
import type { Subject } from '../../conformance/src/index.ts'
import { RedisStorage } from '../src/storage/redis/redis-storage.ts'
import { makeScripts } from '../src/storage/redis/lua/scripts.ts'
import { type ClientName, type PlaceName, placeOf } from './redis-places.ts'

const start = 1_767_225_600_000

/** In the slot of the data. clear() does not delete it. */
export const clockKey = (prefix: string): string => `clock:{${prefix}}:`

const manualTime = `
local now, expires = tonumber(redis.call('GET', 'clock:' .. KEYS[1]) or ${start}), false
`

export const manualTimeScripts = makeScripts(manualTime)

/** Every job that the fast paths lease or complete is listed as those of a large batch are. */
const listedTogether = makeScripts(manualTime, 1)

let prefixes = 0

export async function redisSubject(at: PlaceName = 'redis', client?: ClientName): Promise<Subject> {
  const place = await placeOf(at)
  const prefix = `case-${++prefixes}`
  const closes: (() => Promise<void> | void)[] = []
  const open = async (): Promise<RedisStorage> => {
    const { options, close } = await place.way(client)
    closes.push(close)
    // Most cases have few jobs. So the suites run with entries of several jobs on one server, and with one entry each elsewhere.
    return new RedisStorage({ ...options, prefix }, at === 'redis' ? listedTogether : manualTimeScripts)
  }
  let now = start
  let clock: RespClient | undefined
  return {
    storage: await open(),
    advance: async (ms) => {
      clock ??= await (await place.serverOf(prefix)).connect()
      await clock.send('SET', clockKey(prefix), String((now += ms)))
    },
    another: async () => {
      const other = await open()
      await other.connect()
      closes.unshift(() => other.disconnect())
      return other
    },
    close: async () => {
      clock?.close()
      for (const close of closes) await close()
    },
  }
}

/** Timed by the server, which expires keys by itself. */
export async function liveRedisSubject(at: PlaceName = 'redis', client?: ClientName): Promise<Subject> {
  const { options, close } = await (await placeOf(at)).way(client)
  return { storage: new RedisStorage({ ...options, prefix: `live-${++prefixes}` }), close: async () => close() }
}
