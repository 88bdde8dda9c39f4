// The performance targets, by driver. A ratio is Holdfast's value to that of the best peer of the same durability, or of the baseline
// where the row has one, or of the named peer.

import { furtherTargets } from './further-targets.ts'
import type { Row } from './results.ts'

export interface Target {
  /** Compares with this peer, whatever its durability. `limit`: with what the backend allows, at the same durability. */
  readonly to?: string
  readonly ratio?: { readonly atLeast?: number; readonly atMost?: number }
  readonly value?: { readonly atMost?: number; readonly atLeast?: number }
}

export interface Place extends Pick<Row, 'case' | 'variant' | 'measure'> {
  /** undefined: every driver. */
  readonly driver?: string
  /** undefined: every Holdfast contender. */
  readonly contender?: string
}

const add = { case: 'add', variant: 'single adds, 100 in flight', measure: 'add' }
const addOne = { ...add, variant: 'single adds, one at a time' }
const bulk = { ...add, variant: 'bulk call, 1,000 each' }
const drain = (concurrency: number) => ({ case: 'drain', variant: `concurrency ${concurrency}`, measure: 'drain' })
const steady = (variant: string) => ({ case: 'steady', variant, measure: 'throughput' })
const latency = { case: 'steady', variant: 'latency at 100 jobs/s', measure: 'p50' }
const rtt = (variant: string, measure: string) => ({ case: 'rtt', variant, measure })
const waitingBytes = { case: 'size', variant: 'per job', measure: 'waiting' }
const held = { case: 'held', variant: 'a transaction held open', measure: 'last' }
const backlog = (variant: string, measure: string) => ({ case: 'backlog', variant, measure, ratio: { atMost: 2 } })
const idle = (variant: string) => ({ case: 'idle', variant, measure: 'storage calls', value: { atMost: 0 } })
const chains = (variant: string) => ({ driver: 'postgres', case: 'chains', variant, measure: 'statements per job' })
const atLeast = (ratio: number, to?: string): Target => ({ ratio: { atLeast: ratio }, ...(to !== undefined && { to }) })
const atMost = (ratio: number, to?: string): Target => ({ ratio: { atMost: ratio }, ...(to !== undefined && { to }) })
/** Of what the backend allows, in the same run. */
const ofLimit = (ratio: number): Target => atLeast(ratio, 'limit')
const concurrencies = [100, 10, 1]

/** In the order of the specification: first the ratio to a peer, then that to the limit. */
const targets: readonly (Place & Target)[] = [
  { driver: 'memory', ...drain(100), ...atLeast(3) },
  { driver: 'memory', ...drain(1), ...atLeast(1.2) },
  { driver: 'memory', ...add, ...atLeast(1) },
  { driver: 'memory', ...rtt('serial', 'p50'), ...atMost(1) },

  { driver: 'sqlite', ...drain(100), ...atLeast(4) },
  { driver: 'sqlite', ...drain(10), ...atLeast(3) },
  { driver: 'sqlite', ...drain(1), ...atLeast(1.2) },
  { driver: 'sqlite', contender: 'holdfast', ...drain(100), ...atLeast(2.5, 'plainjob') },
  ...concurrencies.map((concurrency) => ({ driver: 'sqlite', ...drain(concurrency), ...ofLimit(0.6) })),
  { driver: 'sqlite', ...add, ...atLeast(3) },
  { driver: 'sqlite', ...addOne, ...atLeast(1) },
  { driver: 'sqlite', ...add, ...ofLimit(0.6) },
  { driver: 'sqlite', ...addOne, ...ofLimit(0.6) },

  { driver: 'file', ...drain(100), ...atLeast(8) },
  { driver: 'file', ...drain(10), ...atLeast(8) },
  { driver: 'file', ...drain(1), ...atLeast(6) },
  { driver: 'file', ...add, ...atLeast(2) },
  backlog('50k waiting', 'add of 100'),

  { driver: 'redis', ...drain(100), ...atLeast(6, 'bullmq') },
  { driver: 'redis', ...drain(10), ...atLeast(4, 'bullmq') },
  { driver: 'redis', ...drain(1), ...atLeast(2.5, 'bullmq') },
  ...concurrencies.map((concurrency) => ({ driver: 'redis', ...drain(concurrency), ...ofLimit(0.6) })),
  { driver: 'redis', ...add, ...atLeast(6, 'bullmq') },
  { driver: 'redis', ...add, ...atLeast(2, 'bee-queue') },
  { driver: 'redis', ...bulk, ...atLeast(6, 'bullmq') },
  ...[add, bulk].map((adding) => ({ driver: 'redis', ...adding, ...ofLimit(0.6) })),
  { driver: 'redis', ...steady('throughput'), ...atLeast(3) },
  { driver: 'redis', ...steady('throughput'), ...ofLimit(0.5) },
  { driver: 'redis', ...rtt('serial', 'p50'), ...atMost(0.35, '@platformatic/job-queue') },
  { driver: 'redis', ...rtt('serial', 'p99'), ...atMost(0.35, '@platformatic/job-queue') },
  { driver: 'redis', ...rtt('64 in flight', 'throughput'), ...atLeast(6, '@platformatic/job-queue') },
  { driver: 'redis', ...rtt('serial', 'p50'), ...atMost(0.8, 'bullmq') },
  { driver: 'redis', ...waitingBytes, ...atMost(0.6, 'bullmq') },

  ...concurrencies.flatMap((concurrency) => [
    { driver: 'postgres', ...drain(concurrency), ...atLeast(1.2, 'graphile-worker batched') },
    { driver: 'postgres', ...drain(concurrency), ...atLeast(5, 'pg-boss') },
    { driver: 'postgres', ...drain(concurrency), ...ofLimit(0.6) },
  ]),
  { driver: 'postgres', ...add, ...atLeast(15) },
  { driver: 'postgres', ...bulk, ...atLeast(1.2) },
  ...[add, bulk].map((adding) => ({ driver: 'postgres', ...adding, ...ofLimit(0.7) })),
  { driver: 'postgres', ...steady('throughput'), ...atLeast(10) },
  { driver: 'postgres', ...steady('throughput, bulk adds'), ...atLeast(1.2) },
  { driver: 'postgres', ...held, ...atLeast(0.8) },
  ...['pg-boss', 'graphile-worker', 'graphile-worker batched'].map((peer) => {
    return { driver: 'postgres', ...held, ...atLeast(1, peer) }
  }),

  ...['1M waiting', '50k waiting'].flatMap((waiting) =>
    ['claim of 1', 'claim of 100'].map((measure) => backlog(waiting, measure)),
  ),
  ...['1 worker', '100 workers'].map(idle),
  { driver: 'redis', ...latency, ...atMost(0.8) },
  { driver: 'postgres', ...latency, ...atMost(0.8) },
  { driver: 'sqlite', ...latency, value: { atMost: 5 } },
  { ...chains('statements, start in a transaction'), value: { atMost: 2 } },
  { ...chains('statements, complete(callback)'), value: { atMost: 5 } },
  ...furtherTargets,
]

/** The target without `to` comes first. */
export function targetsOf(row: Row, contender: string): readonly Target[] {
  return targets.filter(
    (target) =>
      (target.driver ?? row.driver) === row.driver &&
      (target.contender ?? contender) === contender &&
      target.case === row.case &&
      target.variant === row.variant &&
      target.measure === row.measure,
  )
}
