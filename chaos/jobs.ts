// The jobs of a run: their kinds and what their handler does. A producer's replacement can add the same job again, because
// everything follows from the kind, the id and the seed.

import { storedType } from 'holdfast/storage'
import { type Mode, modes } from './keys.ts'
import { tenantKeys } from './limits.ts'
import { type Random, randomOf } from './random.ts'

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
  /** Of a job with a deduplication key: the id under which the payload was added. It may be that of another job. */
  readonly of?: string
}

/** The result of a job: the run that completed it. */
export interface Result {
  readonly fence: string
}

/**
 * `kept`: the record exists at the end of the run. `passing`: it expires soon, so that there is something to sweep. `limited` and
 * `rated` have limits (limits.ts). `swift`: short runs of jobs that are added one at a time, so that workers are idle between them.
 */
export const queueNames = ['kept', 'passing', 'limited', 'rated', 'swift'] as const
export type QueueName = (typeof queueNames)[number]

/** The stored type of a queue's jobs. */
export const typeOf = (name: QueueName): string => storedType('queue', name)
export const queueTypes = queueNames.map(typeOf)

export const passingTtlMs = 1_000

/** Keys of the ordered groups, which are of the queue `kept`. */
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
  /** Whether each job is in one of the ordered groups, or in one of the unordered ones or none. */
  readonly group?: 'ordered' | 'tenant'
  /** What a start takes of the rate. One of them is drawn. @default 1 */
  readonly weights?: readonly number[]
  /** Whether each job has a deduplication key. */
  readonly keyed?: boolean
  /** Jobs that are added at once, so that limits are reached and keys are contended. @default 1 */
  readonly burst?: number
  /** Share of the jobs that report progress and log lines, 0 … 1. */
  readonly reporting?: number
  /** Duration in leases, or in ms. */
  readonly leases?: readonly [number, number]
  readonly ms?: readonly [number, number]
}

export const kinds = {
  plain: { queue: 'kept', share: 3_334, maxAttempts: 30, ms: [5, 120], reporting: 0.25 },
  /** On Redis, an idle worker gets it with its add. */
  swift: { queue: 'swift', share: 2_000, maxAttempts: 30, ms: [0, 10] },
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
  /** Runs one at a time within its group, which is paused now and then. Every third run of a process fails. */
  grouped: { queue: 'kept', share: 150, maxAttempts: 30, ms: [2, 30], group: 'ordered' },
  /** Of a type with a largest concurrency, in groups with one of their own. Some runs are told to slow down. */
  // Few: at the rate of a server driver, with runs that are lost, more would keep all groups busy, so that none had to wait for its turn.
  limited: { queue: 'limited', share: 40, maxAttempts: 30, ms: [20, 120], group: 'tenant', burst: 10 },
  /** The same, and outlasts its lease. */
  held: { queue: 'limited', share: 10, maxAttempts: 30, leases: [0.5, 1.5], group: 'tenant' },
  /** Of a type with a rate. Some runs are told to slow down. */
  rated: { queue: 'rated', share: 30, maxAttempts: 30, ms: [2, 30], weights: [1, 2, 3], burst: 4 },
  /** With a deduplication key, which every other job of its mode has. */
  keyed: { queue: 'kept', share: 300, maxAttempts: 30, ms: [50, 250], keyed: true, burst: 2 },
  /** Added by a schedule. */
  slot: { queue: 'limited', share: 0, maxAttempts: 30, ms: [10, 40] },
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
  readonly group: { readonly key: string; readonly ordered: boolean } | undefined
  readonly weight: number
  /** Mode of its deduplication key. */
  readonly mode: Mode | undefined
}

/** The ids of a burst: that of its first job, and those that follow from it. */
export function burstOf(id: string, seed: number): string[] {
  const { burst = 1 }: Kind = kinds[kindOf(id, seed)]
  return [id, ...Array.from({ length: burst - 1 }, (_, index) => `${id}+${index + 1}`)]
}

/** The kinds of the first jobs of each producer, so that even a run with few jobs has some of them. */
const firstKinds: readonly JobKind[] = ['ordered', 'limited', 'rated']

function kindOf(ofBurst: string, seed: number): JobKind {
  const [id] = ofBurst.split('+') as [string]
  const first = firstKinds[Number(id.slice(id.lastIndexOf('-') + 1)) - 1]
  if (first) return first
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
      ...(given.keyed && { of: id }),
    },
    delayMs: given.delayMs ? random.integer(...given.delayMs) : 0,
    priority: given.priorities ? random.pick(given.priorities) : 0,
    group: given.group && groupOf(given.group, id, seed, random),
    weight: given.weights ? random.pick(given.weights) : 1,
    // All of a burst have the same key.
    mode: given.keyed ? randomOf(seed, `mode of ${id.split('+')[0]}`).pick(modes) : undefined,
  }
}

function groupOf(kind: 'ordered' | 'tenant', id: string, seed: number, random: Random): Order['group'] {
  if (kind === 'ordered') return { key: random.pick(groupKeys), ordered: true }
  const key = tenantOf(id, seed)
  return key === undefined ? undefined : { key, ordered: false }
}

/**
 * The jobs of a burst are spread over all groups: each has one to start, more than may run at a time, so that they take turns. Of one
 * burst in three they are in two groups, which are full at once.
 */
function tenantOf(ofBurst: string, seed: number): string | undefined {
  const [first, number = '0'] = ofBurst.split('+') as [string, string?]
  const random = randomOf(seed, `tenants of ${first}`)
  const keys = random.shuffled([...tenantKeys, undefined])
  return keys[Number(number) % (random.next() < 1 / 3 ? 2 : keys.length)]
}
