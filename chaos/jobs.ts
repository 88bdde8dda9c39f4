// The jobs of a run: their kinds and what their handler does. A producer's replacement can add the same job again, because
// everything follows from the kind, the id and the seed.

import { storedType } from 'holdfast/storage'
import { randomOf } from './random.ts'

export type JobKind = keyof typeof kinds

export interface Payload {
  readonly kind: JobKind
  /** Duration of the handler, ms. */
  readonly ms: number
  /** Whether the handler ends on abort. Others go on, as code without an abort signal does. */
  readonly heedsAbort: boolean
  /** Whether the handler reports progress and log lines. */
  readonly reports: boolean
  /** Set by a redrive: the job completes from then on. */
  readonly edited?: true
}

/** The result of a job: the run that completed it. */
export interface Result {
  readonly fence: string
}

/** `kept`: the record exists at the end of the run. `passing`: it expires soon, so that there is something to sweep. */
export const queueNames = ['kept', 'passing'] as const
export type QueueName = (typeof queueNames)[number]

/** The stored type of a queue's jobs. */
export const typeOf = (name: QueueName): string => storedType('queue', name)
export const queueTypes = queueNames.map(typeOf)

export const passingTtlMs = 1_000

/** Keys of the ordered groups. */
export const groupKeys = ['group-0', 'group-1', 'group-2'] as const

/** Delay of the attempt after a failure, ms. */
export const backoffMs = 50

interface Kind {
  readonly queue: QueueName
  /** Share in ten thousand jobs. */
  readonly share: number
  /** Attempts, lost ones included. Many, where a series of kills must not fail the job. */
  readonly maxAttempts: number
  readonly delayMs?: readonly [number, number]
  /** One of them is drawn. @default 0 */
  readonly priorities?: readonly number[]
  /** Whether each job is in one of the ordered groups. */
  readonly grouped?: boolean
  /** Share of the jobs that report progress and log lines, 0 … 1. */
  readonly reporting?: number
  /** Duration in leases, or in ms. */
  readonly leases?: readonly [number, number]
  readonly ms?: readonly [number, number]
}

export const kinds = {
  plain: { queue: 'kept', share: 5_714, maxAttempts: 30, ms: [5, 120], reporting: 0.25 },
  /** Outlasts its lease, which is renewed. */
  slow: { queue: 'kept', share: 600, maxAttempts: 30, leases: [0.5, 2.5], reporting: 1 },
  /** Fails once on purpose. */
  retry: { queue: 'kept', share: 800, maxAttempts: 30, ms: [2, 30], reporting: 1 },
  /** Fails every time until a redrive edits its payload; then it completes. */
  failing: { queue: 'kept', share: 250, maxAttempts: 2, ms: [2, 30], reporting: 1 },
  /** Is cancelled while it waits or runs. */
  cancelled: { queue: 'kept', share: 500, maxAttempts: 30, delayMs: [0, 600], leases: [0.2, 0.6] },
  /** enqueueAndWait. */
  request: { queue: 'kept', share: 380, maxAttempts: 30, ms: [2, 60] },
  /** Added in a transaction with a user row, where the driver has them; its handler adds a `followed` job in another. */
  ordered: { queue: 'kept', share: 600, maxAttempts: 30, ms: [2, 60] },
  followed: { queue: 'kept', share: 0, maxAttempts: 30, ms: [2, 30] },
  /** Runs one at a time within its group, which is paused now and then. */
  grouped: { queue: 'kept', share: 150, maxAttempts: 30, ms: [2, 30], grouped: true },
  /** With a priority. Its type is paused now and then, and has few slots: so there is a choice. */
  passing: { queue: 'passing', share: 1_000, maxAttempts: 30, ms: [2, 30], priorities: [-10, 0, 10] },
  /** Ends its process. */
  poison: { queue: 'kept', share: 6, maxAttempts: 2, ms: [2, 30] },
} as const satisfies Readonly<Record<string, Kind>>

export const kindNames = Object.keys(kinds) as readonly JobKind[]

export interface Order {
  readonly id: string
  readonly queue: QueueName
  readonly payload: Payload
  readonly maxAttempts: number
  readonly delayMs: number
  readonly priority: number
  /** Key of its ordered group. */
  readonly group: string | undefined
}

function kindOf(id: string, seed: number): JobKind {
  // The first job of each producer, so that even a short run has some.
  if (id.endsWith('-1')) return 'ordered'
  let drawn = randomOf(seed, `kind of ${id}`).integer(1, 10_000)
  return kindNames.find((name) => (drawn -= kinds[name].share) <= 0)!
}

/** The same order for the same id. */
export function orderOf(id: string, seed: number, leaseMs: number): Order {
  return orderAs(kindOf(id, seed), id, seed, leaseMs)
}

export function orderAs(kind: JobKind, id: string, seed: number, leaseMs: number): Order {
  const random = randomOf(seed, `order ${id}`)
  const { queue, maxAttempts, ...given }: Kind = kinds[kind]
  const [low, high] = given.leases?.map((leases) => leases * leaseMs) ?? given.ms!
  return {
    id,
    queue,
    maxAttempts,
    payload: {
      kind,
      ms: Math.round(random.between(low!, high!)),
      heedsAbort: random.next() < 0.5,
      reports: random.next() < (given.reporting ?? 0),
    },
    delayMs: given.delayMs ? random.integer(...given.delayMs) : 0,
    priority: given.priorities ? random.pick(given.priorities) : 0,
    group: given.grouped ? random.pick(groupKeys) : undefined,
  }
}
