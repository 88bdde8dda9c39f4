// What a server reports about itself. It is only read, never changed. INFO and CONFIG may be forbidden: a fact that cannot be
// read is undefined, and counts as not given.

import type { Clock } from '../../../clock.ts'
import { type Argument, primariesOf, type RedisClient } from './client.ts'
import { replyCode } from './errors.ts'
import type { ReplyMonitor } from './reply-monitor.ts'

export interface ServerFacts {
  /** INFO is allowed. */
  readonly isReadable: boolean
  readonly isLoading: boolean
  readonly isReplica: boolean
  readonly version: string | undefined
  /** Whether it keeps an append-only file. */
  readonly aof: boolean | undefined
  /** When it syncs that file: 'always', 'everysec' or 'no'. */
  readonly appendfsync: string | undefined
  readonly replicas: number | undefined
  readonly maxmemory: number | undefined
  readonly maxmemoryPolicy: string | undefined
}

export type Call = (command: string, args: Argument[]) => Promise<unknown>

/** Between two looks at a server that loads its data, in ms. */
const loadingMs = 100

/** The facts of all primaries, once each has loaded its data. */
export function factsOfAll(client: RedisClient, replies: ReplyMonitor, clock: Clock): Promise<ServerFacts[]> {
  return Promise.all(
    primariesOf(client).map(async (node) => {
      for (;;) {
        const facts = await readFacts((command, args) => replies.expect(node.callBuffer(command, args)))
        if (!facts.isLoading) return facts
        await new Promise<void>((resolve) => void clock.after(loadingMs, resolve))
      }
    }),
  )
}

async function readFacts(call: Call): Promise<ServerFacts> {
  const info = await readInfo(call)
  // INFO has the policy too. CONFIG is asked where INFO is forbidden.
  const policy = info?.get('maxmemory_policy') ?? (await readConfig(call, 'maxmemory-policy'))
  const maxmemory = info?.get('maxmemory') ?? (await readConfig(call, 'maxmemory'))
  const aof = info?.get('aof_enabled')
  return {
    isReadable: info !== undefined,
    isLoading: info?.get('loading') === '1',
    isReplica: info?.get('role') === 'slave',
    version: info?.get('redis_version'),
    aof: aof === undefined ? undefined : aof === '1',
    appendfsync: await readConfig(call, 'appendfsync'),
    replicas: info && [...info].filter(isReplicaOnline).length,
    maxmemory: maxmemory === undefined ? undefined : Number(maxmemory),
    maxmemoryPolicy: policy,
  }
}

/** `slave0: ip=…,state=online,…`. A replica that still receives its first copy acknowledges nothing. */
const isReplicaOnline = ([key, value]: readonly [string, string]): boolean =>
  /^slave\d+$/.test(key) && value.includes('state=online')

async function readInfo(call: Call): Promise<Map<string, string> | undefined> {
  const answer = await allowed(call('info', []))
  if (answer === undefined) return undefined
  const lines = String(answer).split('\r\n')
  return new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1)]
    }),
  )
}

async function readConfig(call: Call, name: string): Promise<string | undefined> {
  const answer = await allowed(call('config', ['GET', name]))
  if (answer === null || typeof answer !== 'object') return undefined
  // RESP2 answers with pairs, RESP3 with a map.
  const value: unknown = Array.isArray(answer) ? answer[1] : [...entriesOf(answer)][0]?.[1]
  return value === undefined ? undefined : String(value)
}

const entriesOf = (map: object): Iterable<readonly [unknown, unknown]> =>
  map instanceof Map ? map : Object.entries(map)

/** The answer. Undefined if the user lacks the right, or the command is renamed. */
async function allowed(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer
  } catch (error) {
    const isForbidden = replyCode(error) === 'NOPERM' || /^ERR unknown command/i.test((error as Error).message)
    if (isForbidden) return undefined
    throw error
  }
}
