// The contender `limit` on Redis.

import type { Contender } from '../contender.ts'
import { type Ahead, type BareQueue, limitSession } from './limit.ts'
import { redisAt, redisServer, redisUnavailable } from './redis.ts'

/** KEYS: what keys begin with. ARGV: id and payload of each job. */
const insert = `
local records, ids = {}, {}
for at = 1, #ARGV, 2 do
  records[at], records[at + 1], ids[#ids + 1] = KEYS[1] .. 'job:' .. ARGV[at], ARGV[at + 1], ARGV[at]
end
if redis.call('MSETNX', unpack(records)) == 0 then return redis.error_reply('an id is taken') end
redis.call('RPUSH', KEYS[1] .. 'ready', unpack(ids))
return 0`

/** KEYS: as above. ARGV: slots, end of the lease, retention in ms; then the ids of ended jobs. Answers with ids, then payloads. */
const turn = `
local call, leases = redis.call, KEYS[1] .. 'leases'
if #ARGV > 3 then
  call('ZREM', leases, unpack(ARGV, 4))
  for at = 4, #ARGV do call('SET', KEYS[1] .. 'job:' .. ARGV[at], 'true', 'PX', ARGV[3]) end
end
local ids = call('LPOP', KEYS[1] .. 'ready', ARGV[1])
if not ids or #ids == 0 then return {} end
local keys, leased = {}, {}
for at, id in ipairs(ids) do
  keys[at], leased[2 * at - 1], leased[2 * at] = KEYS[1] .. 'job:' .. id, ARGV[2], id
end
call('ZADD', leases, unpack(leased))
return { ids, call('MGET', unpack(keys)) }`

const base = '{limit}:'

export function limitOnRedis(ahead: Ahead): Contender {
  return {
    name: ahead.name,
    driver: 'redis',
    package: 'ioredis',
    isPeer: true,
    isLimit: true,
    cases: ahead.cases,
    isShared: true,
    configuration: `ioredis, ${redisServer}; one script per insert, one per turn; two turns in flight, ${ahead.about}`,
    unavailable: redisUnavailable,

    async setup({ resultTtlMs, leaseMs }, place) {
      const { url } = await redisAt(place)
      const { Redis } = await import('ioredis')
      const client = new Redis(url)
      const [insertSha, turnSha] = await Promise.all([insert, turn].map((source) => client.script('LOAD', source)))
      const queue: BareQueue = {
        async insert(jobs) {
          await client.evalsha(insertSha as string, 1, base, ...jobs.flatMap(({ id, payload }) => [id, payload]))
        },
        async turn(ended, slots) {
          const args = [slots, Date.now() + leaseMs, resultTtlMs, ...ended]
          const [ids = [], payloads = []] = (await client.evalsha(turnSha as string, 1, base, ...args)) as string[][]
          return ids.map((id, index) => ({ id, payload: payloads[index]! }))
        },
        close: async () => client.disconnect(),
      }
      return limitSession(queue, 2, ahead)
    },
  }
}
