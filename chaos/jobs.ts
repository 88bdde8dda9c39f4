// The jobs of a run: what kinds there are, and what their handler does. All that a producer's successor needs to ask for
// the same job again follows from the kind, the id and the seed.

import { storedType } from 'holdfast/storage'
import { randomOf } from './random.ts'

export type JobKind = keyof typeof kinds

export interface Payload {
  readonly kind: JobKind
  /** How long the handler takes. */
  readonly ms: number
  /** Ends when it is told to stop. Others go on, as code that nobody told about signals does. */
  readonly heedsAbort: boolean
}

/** What a completed job leaves: the run that completed it. */
export interface Result {
  readonly fence: string
}

/** `kept`: its record is there at the end of the run. `passing`: it expires soon, so that there is something to sweep. */
export const queueNames = ['kept', 'passing'] as const
export type QueueName = (typeof queueNames)[number]

/** The stored type of a queue's jobs. */
export const typeOf = (name: QueueName): string => storedType('queue', name)
export const queueTypes = queueNames.map(typeOf)

export const passingTtlMs = 1_000

/** After a failure the next attempt waits this long. */
export const backoffMs = 50

interface Kind {
  readonly queue: QueueName
  /** Of ten thousand jobs. */
  readonly share: number
  /** Attempts, lost ones included. Many, where a run of kills must not end the job. */
  readonly maxAttempts: number
  readonly delayMs?: readonly [number, number]
  /** In leases, or in ms. */
  readonly leases?: readonly [number, number]
  readonly ms?: readonly [number, number]
}

export const kinds = {
  plain: { queue: 'kept', share: 6_564, maxAttempts: 30, ms: [5, 120] },
  /** Its lease is renewed. */
  slow: { queue: 'kept', share: 600, maxAttempts: 30, leases: [0.5, 2.5] },
  /** Fails once on purpose. */
  retry: { queue: 'kept', share: 800, maxAttempts: 30, ms: [2, 30] },
  /** Fails every time. */
  failing: { queue: 'kept', share: 250, maxAttempts: 2, ms: [2, 30] },
  /** Is cancelled while it waits, or while it runs. */
  cancelled: { queue: 'kept', share: 500, maxAttempts: 30, delayMs: [0, 600], leases: [0.2, 0.6] },
  /** enqueueAndWait. */
  request: { queue: 'kept', share: 380, maxAttempts: 30, ms: [2, 60] },
  /** Added in a transaction with a row of the user's, where there are any; its handler adds a `followed` in another. */
  ordered: { queue: 'kept', share: 600, maxAttempts: 30, ms: [2, 60] },
  followed: { queue: 'kept', share: 0, maxAttempts: 30, ms: [2, 30] },
  passing: { queue: 'passing', share: 300, maxAttempts: 30, ms: [2, 30] },
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
}

function kindOf(id: string, seed: number): JobKind {
  // The first of each producer, so that a run has some, however short it is.
  if (id.endsWith('-1')) return 'ordered'
  let drawn = randomOf(seed, `kind of ${id}`).integer(1, 10_000)
  return kindNames.find((name) => (drawn -= kinds[name].share) <= 0)!
}

/** The same for the same id. */
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
    payload: { kind, ms: Math.round(random.between(low!, high!)), heedsAbort: random.next() < 0.5 },
    delayMs: given.delayMs ? random.integer(...given.delayMs) : 0,
  }
}
