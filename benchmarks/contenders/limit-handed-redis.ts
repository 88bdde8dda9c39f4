import { randomUUID } from 'node:crypto'
import type { Contender } from '../contender.ts'
import { handedCases, type HandingQueue, handedSession, jobsOf, type LeasedJob } from '../sessions/limit-handed.ts'
import { redisAt, redisServer, redisUnavailable } from '../sessions/redis.ts'

/**
 * KEYS: what keys begin with. ARGV: end of the lease; then id and payload of each job. An offer is a number of slots and a channel. There are
 * offers only while no job waits. The message is JSON: ids and payloads in turn.
 */
const insert = `
local call, records = redis.call, {}
for at = 2, #ARGV, 2 do records[at - 1], records[at] = KEYS[1] .. 'job:' .. ARGV[at], ARGV[at + 1] end
if call('MSETNX', unpack(records)) == 0 then return redis.error_reply('an id is taken') end
local next, leases = 2, {}
while next < #ARGV do
  local offer = call('LPOP', KEYS[1] .. 'offers')
  if not offer then break end
  local slots, channel = string.match(offer, '^(%d+) (.+)$')
  local last, message = math.min(next + 2 * slots, #ARGV + 1) - 2, {}
  for at = next, last, 2 do
    leases[at - 1], leases[at] = ARGV[1], ARGV[at]
    message[#message + 1] = '"' .. ARGV[at] .. '",' .. ARGV[at + 1]
  end
  call('PUBLISH', channel, '[' .. table.concat(message, ',') .. ']')
  if slots - #message > 0 then call('LPUSH', KEYS[1] .. 'offers', (slots - #message) .. ' ' .. channel) end
  next = last + 2
end
if next > 2 then call('ZADD', KEYS[1] .. 'leases', unpack(leases)) end
if next > #ARGV then return 0 end
local ids = {}
for at = next, #ARGV, 2 do ids[#ids + 1] = ARGV[at] end
call('RPUSH', KEYS[1] .. 'ready', unpack(ids))
return 0`

/**
 * KEYS: as above. ARGV: slots, end of the lease, retention in ms, the channel of the worker, the number of answers; channel and message of
 * each; then the ids of ended jobs. Answers with ids, then payloads.
 */
const turn = `
local call, leases = redis.call, KEYS[1] .. 'leases'
local first = 6 + 2 * ARGV[5]
if #ARGV >= first then
  call('ZREM', leases, unpack(ARGV, first))
  for at = first, #ARGV do call('SET', KEYS[1] .. 'job:' .. ARGV[at], 'true', 'PX', ARGV[3]) end
end
for at = 6, first - 1, 2 do call('PUBLISH', ARGV[at], ARGV[at + 1]) end
local slots = tonumber(ARGV[1])
local ids = slots > 0 and call('LPOP', KEYS[1] .. 'ready', slots) or {}
if slots > #ids then call('RPUSH', KEYS[1] .. 'offers', (slots - #ids) .. ' ' .. ARGV[4]) end
if #ids == 0 then return {} end
local keys, leased = {}, {}
for at, id in ipairs(ids) do
  keys[at], leased[2 * at - 1], leased[2 * at] = KEYS[1] .. 'job:' .. id, ARGV[2], id
end
call('ZADD', leases, unpack(leased))
return { ids, call('MGET', unpack(keys)) }`

const base = '{limit}:'

export const contender: Contender = {
  name: 'limit handed over',
  driver: 'redis',
  package: 'ioredis',
  isPeer: true,
  isLimit: true,
  handsOver: true,
  cases: handedCases,
  isShared: true,
  configuration:
    `ioredis, ${redisServer}; one script per insert, which leases jobs to offered slots and publishes them; one per turn, which records ends ` +
    'and results, publishes the answers and offers the slots; two turns in flight; a connection for calls and one for messages',
  unavailable: redisUnavailable,

  async setup({ resultTtlMs, leaseMs }, place) {
    const { url } = await redisAt(place)
    const { Redis } = await import('ioredis')
    const [client, subscriber] = [new Redis(url), new Redis(url)]
    const [insertSha, turnSha] = await Promise.all([insert, turn].map((source) => client.script('LOAD', source)))
    const channel = `worker-${randomUUID()}`
    const listeners = new Map<string, (message: string) => void>()
    subscriber.on('message', (name: string, message: string) => listeners.get(name)?.(message))
    const listen = async (name: string, onMessage: (message: string) => void): Promise<void> => {
      listeners.set(name, onMessage)
      await subscriber.subscribe(name)
    }
    const queue: HandingQueue = {
      async insert(jobs) {
        const args = [Date.now() + leaseMs, ...jobs.flatMap(({ id, payload }) => [id, payload])]
        await client.evalsha(insertSha as string, 1, base, ...args)
      },
      offer: (onHanded) => listen(channel, (message) => onHanded(jobsOf(message))),
      async turn({ ended, answers, slots }) {
        const messages = answers.flatMap((answer) => [answer.channel, answer.message])
        const args = [slots, Date.now() + leaseMs, resultTtlMs, channel, answers.length, ...messages, ...ended]
        const [ids = [], payloads = []] = (await client.evalsha(turnSha as string, 1, base, ...args)) as string[][]
        return ids.map((key, index) => ({ key, payload: JSON.parse(payloads[index]!) as LeasedJob['payload'] }))
      },
      listen,
      async close() {
        client.disconnect()
        subscriber.disconnect()
      },
    }
    return handedSession(queue)
  },
}
