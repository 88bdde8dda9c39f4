// The performance targets. A ratio is Holdfast's value to that of the best peer of the same durability, or of the baseline where the
// row has one, or of the named peer.

import type { Row } from './results.ts'

export interface Target {
  /** Compares with this peer, whatever its durability. `limit`: with what the backend allows, at the same durability. */
  readonly to?: string
  readonly ratio?: { readonly atLeast?: number; readonly atMost?: number }
  readonly value?: { readonly atMost?: number; readonly atLeast?: number }
}

interface Place extends Pick<Row, 'case' | 'variant' | 'measure'> {
  /** undefined: every driver. */
  readonly driver?: string
  /** undefined: every Holdfast contender. */
  readonly contender?: string
}

const add = { case: 'add', variant: 'single adds, 100 in flight', measure: 'add' }
const bulk = { ...add, variant: 'bulk call, 1,000 each' }
const latency = { case: 'steady', variant: 'latency at 100 jobs/s', measure: 'p50' }
const rtt = (variant: string, measure: string) => ({ case: 'rtt', variant, measure })
const drain = (concurrency: number) => ({
  case: 'drain',
  variant: `concurrency ${concurrency}`,
  measure: 'drain',
})
const backlog = (variant: string, measure: string) => ({ case: 'backlog', variant, measure, ratio: { atMost: 2 } })
/** What claims of others may lose to 100,000 jobs in full groups. */
const besideFullGroups = ['1k waiting', '500 waiting'].flatMap((waiting) =>
  ['', ' in groups'].flatMap((where) =>
    ['2', '10k'].flatMap((groups) =>
      ['claim of 1', 'claim of 100'].map((measure) => ({
        case: 'backlog',
        variant: `${waiting}${where}, group limit, 100k in ${groups} full groups`,
        measure,
        ratio: { atMost: 1.2 },
      })),
    ),
  ),
)
const steady = (variant: string) => ({ case: 'steady', variant, measure: 'throughput' })
const held = { case: 'held', variant: 'a transaction held open', measure: 'last' }
const limits = (variant: string, measure: string, value: NonNullable<Target['value']>) => ({
  case: 'limits',
  variant,
  measure,
  value,
})
const statements = (variant: string, atMost: number) => ({
  driver: 'postgres',
  case: 'chains',
  variant,
  measure: 'statements per job',
  value: { atMost },
})
const operate = (measure: string) => ({ case: 'operate', variant: 'many records', measure, ratio: { atMost: 3 } })
const idle = (variant: string) => ({ case: 'idle', variant, measure: 'storage calls', value: { atMost: 0 } })

const targets: readonly (Place & Target)[] = [
  { driver: 'memory', ...drain(100), ratio: { atLeast: 3 } },
  { driver: 'memory', ...add, ratio: { atLeast: 1 } },
  { driver: 'sqlite', ...drain(100), ratio: { atLeast: 4 } },
  { driver: 'sqlite', ...drain(10), ratio: { atLeast: 3 } },
  { driver: 'sqlite', ...drain(1), ratio: { atLeast: 1 } },
  { driver: 'sqlite', contender: 'holdfast', ...drain(100), to: 'plainjob', ratio: { atLeast: 2.5 } },
  { driver: 'sqlite', ...add, ratio: { atLeast: 3 } },
  { driver: 'sqlite', ...latency, value: { atMost: 15 } },
  { driver: 'file', ...drain(100), ratio: { atLeast: 8 } },
  { driver: 'file', ...drain(10), ratio: { atLeast: 8 } },
  { driver: 'file', ...drain(1), ratio: { atLeast: 8 } },
  { driver: 'file', ...add, ratio: { atLeast: 2 } },
  { driver: 'redis', ...drain(100), to: 'bullmq', ratio: { atLeast: 8 } },
  { driver: 'redis', ...drain(10), to: 'bullmq', ratio: { atLeast: 3 } },
  { driver: 'redis', ...drain(1), to: 'bullmq', ratio: { atLeast: 1.5 } },
  { driver: 'redis', ...add, to: 'bullmq', ratio: { atLeast: 6 } },
  { driver: 'redis', ...add, to: 'bee-queue', ratio: { atLeast: 1.5 } },
  { driver: 'redis', ...bulk, to: 'bullmq', ratio: { atLeast: 6 } },
  { driver: 'redis', ...steady('throughput'), ratio: { atLeast: 3 } },
  { driver: 'redis', ...latency, ratio: { atMost: 0.8 } },
  { driver: 'redis', ...rtt('serial', 'p50'), to: '@platformatic/job-queue', ratio: { atMost: 0.35 } },
  { driver: 'redis', ...rtt('serial', 'p50'), to: 'bullmq', ratio: { atMost: 1 } },
  { driver: 'redis', ...rtt('serial', 'p99'), to: '@platformatic/job-queue', ratio: { atMost: 0.35 } },
  { driver: 'redis', ...rtt('64 in flight', 'throughput'), to: '@platformatic/job-queue', ratio: { atLeast: 8 } },
  { driver: 'redis', case: 'size', variant: 'per job', measure: 'waiting', to: 'bullmq', ratio: { atMost: 0.6 } },
  { driver: 'postgres', ...drain(100), to: 'graphile-worker batched', ratio: { atLeast: 2 } },
  { driver: 'postgres', ...drain(100), to: 'pg-boss', ratio: { atLeast: 5 } },
  { driver: 'postgres', ...drain(10), to: 'graphile-worker batched', ratio: { atLeast: 1.5 } },
  { driver: 'postgres', ...drain(10), to: 'pg-boss', ratio: { atLeast: 5 } },
  { driver: 'postgres', ...add, ratio: { atLeast: 15 } },
  { driver: 'postgres', ...bulk, ratio: { atLeast: 2 } },
  { driver: 'postgres', ...steady('throughput'), ratio: { atLeast: 10 } },
  { driver: 'postgres', ...steady('throughput, bulk adds'), ratio: { atLeast: 1.5 } },
  { driver: 'postgres', ...latency, ratio: { atMost: 0.8 } },
  { driver: 'postgres', ...held, ratio: { atLeast: 0.8 } },
  { driver: 'postgres', ...held, to: 'pg-boss', ratio: { atLeast: 1 } },
  { driver: 'postgres', ...held, to: 'graphile-worker', ratio: { atLeast: 1 } },
  { driver: 'postgres', ...held, to: 'graphile-worker batched', ratio: { atLeast: 1 } },
  ...['sqlite', 'redis', 'postgres'].flatMap((driver) => [
    ...[1, 10, 100].map((concurrency) => ({ driver, ...drain(concurrency), to: 'limit', ratio: { atLeast: 0.6 } })),
    ...[add, ...(driver === 'sqlite' ? [] : [bulk])].map((adding) => {
      return { driver, ...adding, to: 'limit', ratio: { atLeast: driver === 'postgres' ? 0.7 : 0.6 } }
    }),
  ]),
  backlog('1M waiting', 'claim of 1'),
  backlog('1M waiting', 'claim of 100'),
  backlog('50k waiting', 'claim of 1'),
  backlog('50k waiting', 'claim of 100'),
  backlog('50k waiting', 'add of 100'),
  ...besideFullGroups,
  idle('1 worker'),
  idle('100 workers'),
  ...[
    'page, no filter',
    'page, state',
    'page, type',
    'page, type and state',
    'page, search',
    'page, search and state',
    'page, two search fields',
    'page in the middle',
  ].map(operate),
  { case: 'operate', variant: 'retry 100k failed', measure: 'peak heap', ratio: { atMost: 2 } },
  limits('concurrency 3', 'most at once', { atMost: 3 }),
  limits('1 per group', 'most at once', { atMost: 1 }),
  limits('rate 100 per s', 'most starts in 1 s', { atMost: 100 }),
  limits('rate 100 per s', 'share used', { atLeast: 95 }),
  statements('statements, batched', 0.5),
  statements('statements, complete(callback)', 5),
  { ...statements('statements, batched', 2), measure: 'row updates per job' },
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
