// What a server says of itself when we connect, and whether that is enough. Nothing is ever changed there. What a server
// does not let us read (INFO and CONFIG may be forbidden) is not known, and counts as not given.

import type { Argument } from './client.ts'
import { replyCode } from './errors.ts'
import type { ResolvedRedisOptions } from '../redis-options.ts'

/** Undefined: not readable. */
export interface ServerFacts {
  readonly isReadable: boolean
  readonly isLoading: boolean
  readonly isReplica: boolean
  readonly version: string | undefined
  /** Whether it keeps an append-only file, and when it syncs it: 'always', 'everysec' or 'no'. */
  readonly aof: boolean | undefined
  readonly appendfsync: string | undefined
  readonly replicas: number | undefined
  readonly maxmemory: number | undefined
  readonly maxmemoryPolicy: string | undefined
}

export type Call = (command: string, args: Argument[]) => Promise<unknown>

export async function readFacts(call: Call): Promise<ServerFacts> {
  const info = await readInfo(call)
  // INFO has it, and CONFIG may be forbidden; but where INFO is, it is the other way to know.
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

/** `slave0: ip=…,state=online,…`. One that is still being filled acknowledges nothing. */
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
  // Pairs, or a map where RESP3 is spoken as it is.
  const value: unknown = Array.isArray(answer) ? answer[1] : [...entriesOf(answer)][0]?.[1]
  return value === undefined ? undefined : String(value)
}

const entriesOf = (map: object): Iterable<readonly [unknown, unknown]> =>
  map instanceof Map ? map : Object.entries(map)

/** Undefined if the user may not ask, or the command is renamed. */
async function allowed(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer
  } catch (error) {
    const isForbidden = replyCode(error) === 'NOPERM' || /^ERR unknown command/i.test((error as Error).message)
    if (isForbidden) return undefined
    throw error
  }
}

/** What follows the writes on their connection. */
export interface Wait {
  readonly command: 'wait' | 'waitaof'
  readonly replicas: number
  readonly timeoutMs: number
}

export interface Judgement {
  /** Why the server must not be opened. */
  readonly refusal: string | undefined
  readonly durable: boolean
  readonly wait: Wait | undefined
}

type Wanted = Pick<ResolvedRedisOptions, 'durability' | 'replicas' | 'replicaTimeoutMs' | 'allowEviction'>

/** A server that syncs every second takes up to two to say so. */
const syncMs = 2_000

export function judge(facts: ServerFacts, wanted: Wanted): Judgement {
  const refusal = versionRefusal(facts) ?? evictionRefusal(facts, wanted) ?? durabilityRefusal(facts, wanted)
  const wait = waitOf(facts, wanted)
  return { refusal, wait, durable: refusal === undefined && (syncsAlways(facts) || wait?.command === 'waitaof') }
}

/** Of several primaries: as good as the weakest. */
export function judgeAll(judgements: readonly Judgement[]): Judgement {
  const waits = judgements.map(({ wait }) => wait)
  return {
    refusal: judgements.find(({ refusal }) => refusal !== undefined)?.refusal,
    durable: judgements.every(({ durable }) => durable),
    // One that has to be waited for, and the weaker of two ways.
    wait: waits.find((wait) => wait?.command === 'wait') ?? waits.find((wait) => wait !== undefined),
  }
}

const syncsAlways = ({ aof, appendfsync }: ServerFacts): boolean => aof === true && appendfsync === 'always'

function isBelow({ version }: ServerFacts, major: number, minor: number): boolean {
  if (version === undefined) return false
  const [givenMajor = 0, givenMinor = 0] = version.split('.').map(Number)
  return givenMajor < major || (givenMajor === major && givenMinor < minor)
}

/** Valkey 8 answers as the Redis 7.2 it came from. */
const hasWaitAof = (facts: ServerFacts): boolean => facts.version !== undefined && !isBelow(facts, 7, 2)

function waitOf(facts: ServerFacts, { durability, replicas, replicaTimeoutMs }: Wanted): Wait | undefined {
  if (durability === 'relaxed') return undefined
  const syncs = facts.aof === true && hasWaitAof(facts) && facts.appendfsync !== 'no'
  const aof = { command: 'waitaof', timeoutMs: replicaTimeoutMs + syncMs } as const
  if (durability === 'replicated') {
    return syncs ? { ...aof, replicas } : { command: 'wait', replicas, timeoutMs: replicaTimeoutMs }
  }
  return syncsAlways(facts) ? undefined : { ...aof, replicas: 0 }
}

function versionRefusal(facts: ServerFacts): string | undefined {
  if (!isBelow(facts, 7, 0)) return undefined
  return `it is Redis ${facts.version}, and Redis 7 or Valkey 8 is needed`
}

function evictionRefusal(facts: ServerFacts, { allowEviction }: Wanted): string | undefined {
  const { maxmemory, maxmemoryPolicy: policy } = facts
  if (allowEviction || policy === undefined || policy === 'noeviction' || maxmemory === 0) return undefined
  return (
    `its maxmemory-policy is ${policy}, so it would delete jobs when its memory is full: ` +
    'set it to noeviction, or accept the loss with `allowEviction: true`'
  )
}

function durabilityRefusal(facts: ServerFacts, { durability, replicas }: Wanted): string | undefined {
  if (durability === 'relaxed') return undefined
  const asked = `durability '${durability}' cannot be given: `
  if (!facts.isReadable) return `${asked}the user of this connection may not call INFO, so the server cannot be checked`
  if (durability === 'replicated') {
    if (facts.replicas !== undefined && facts.replicas >= replicas) return undefined
    return `${asked}it has ${facts.replicas ?? 0} replicas in step, and \`replicas\` is ${replicas}`
  }
  if (!facts.aof) return `${asked}its append-only file is off: set appendonly yes`
  if (syncsAlways(facts)) return undefined
  if (facts.appendfsync === 'no') return `${asked}its appendfsync is no: set it to everysec or always`
  if (hasWaitAof(facts)) return undefined
  return facts.appendfsync === undefined
    ? `${asked}it has no WAITAOF (Redis 7.2, Valkey 8), and CONFIG GET appendfsync is forbidden`
    : `${asked}it has no WAITAOF (Redis 7.2, Valkey 8), and its appendfsync is ${facts.appendfsync}: set it to always`
}
