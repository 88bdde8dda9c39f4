// Whether a server can give what the options ask for, and how a durable write is confirmed there.

import type { ResolvedRedisOptions } from '../redis-options.ts'
import type { ServerFacts } from './server-facts.ts'

/** The command that follows durable writes on their connection. */
export interface Wait {
  readonly command: 'wait' | 'waitaof'
  readonly replicas: number
  readonly timeoutMs: number
}

export interface Assessment {
  /** Why the server must not be used, in sentences. */
  readonly refusal: string | undefined
  /** An acknowledged write survives a power cut. */
  readonly durable: boolean
  /** Undefined: a write is as durable as asked for once it is answered. */
  readonly wait: Wait | undefined
}

type Required = Pick<ResolvedRedisOptions, 'durability' | 'replicas' | 'replicaTimeoutMs' | 'allowEviction'>

/** A server that syncs every second takes up to two seconds to confirm a sync. */
const syncMs = 2_000

export function assess(facts: ServerFacts, required: Required): Assessment {
  const refusal = versionRefusal(facts) ?? evictionRefusal(facts, required) ?? durabilityRefusal(facts, required)
  const wait = waitOf(facts, required)
  return { refusal, wait, durable: refusal === undefined && (syncsAlways(facts) || wait?.command === 'waitaof') }
}

/** Of several primaries, the weakest decides. */
export function assessAll(all: readonly ServerFacts[], required: Required): Assessment {
  const assessments = all.map((facts) => assess(facts, required))
  const waits = assessments.map(({ wait }) => wait)
  return {
    refusal: assessments.find(({ refusal }) => refusal !== undefined)?.refusal,
    durable: assessments.every(({ durable }) => durable),
    // WAIT is the weaker of the two commands.
    wait: waits.find((wait) => wait?.command === 'wait') ?? waits.find((wait) => wait !== undefined),
  }
}

const syncsAlways = ({ aof, appendfsync }: ServerFacts): boolean => aof === true && appendfsync === 'always'

function isBelow({ version }: ServerFacts, major: number, minor: number): boolean {
  if (version === undefined) return false
  const [givenMajor = 0, givenMinor = 0] = version.split('.').map(Number)
  return givenMajor < major || (givenMajor === major && givenMinor < minor)
}

/** Valkey 8 reports the version of the Redis that it was forked from, 7.2. */
const hasWaitAof = (facts: ServerFacts): boolean => facts.version !== undefined && !isBelow(facts, 7, 2)

function waitOf(facts: ServerFacts, { durability, replicas, replicaTimeoutMs }: Required): Wait | undefined {
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
  return `The server is Redis ${facts.version}. RedisStorage needs Redis 7 or Valkey 8.`
}

function evictionRefusal(facts: ServerFacts, { allowEviction }: Required): string | undefined {
  const { maxmemory, maxmemoryPolicy: policy } = facts
  if (allowEviction || policy === undefined || policy === 'noeviction' || maxmemory === 0) return undefined
  return (
    `Its maxmemory-policy is ${policy}: it would delete jobs when memory is full. ` +
    'Set it to noeviction, or accept the loss with `allowEviction: true`.'
  )
}

function durabilityRefusal(facts: ServerFacts, { durability, replicas }: Required): string | undefined {
  if (durability === 'relaxed') return undefined
  const cannot = `It cannot give durability '${durability}': `
  if (!facts.isReadable) {
    return `${cannot}the user of this connection may not call INFO. Allow INFO, so that the server can be checked.`
  }
  if (durability === 'replicated') {
    if (facts.replicas !== undefined && facts.replicas >= replicas) return undefined
    return `${cannot}it has ${facts.replicas ?? 0} replicas online. Add replicas, or lower \`replicas\` from ${replicas}.`
  }
  if (!facts.aof) return `${cannot}its append-only file is off. Set appendonly yes.`
  if (syncsAlways(facts)) return undefined
  if (facts.appendfsync === 'no') return `${cannot}its appendfsync is no. Set it to everysec or always.`
  if (hasWaitAof(facts)) return undefined
  const without = `${cannot}it has no WAITAOF (Redis 7.2, Valkey 8), and `
  return facts.appendfsync === undefined
    ? `${without}CONFIG GET appendfsync is forbidden. Allow it, or upgrade the server.`
    : `${without}its appendfsync is ${facts.appendfsync}. Set it to always, or upgrade the server.`
}
