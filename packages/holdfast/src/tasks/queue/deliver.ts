// One delivery of a message, from its bytes to its outcome:
//
//   did the previous run lose its lease? the policy may give the message up → decode → handler → completed
//
// What the handler throws or returns instead decides the outcome:
//
//   replaced by an enqueue of its handler  → released, with the new message
//   snooze()                               → released, with its time
//   rateLimited()                          → released, with its time, and others of its queue or group with it
//   the worker stops                       → released
//   fail(), or the policy gives up         → failed
//   anything else                          → retry, after the policy's delay

import type { Clock } from '../../clock.ts'
import type { GuardedStorage } from '../../engine/guard.ts'
import { type Directive, isDirective } from '../../engine/job/directives.ts'
import type { Serde } from '../../engine/job/serde.ts'
import { pause } from '../../engine/retry-until-ready.ts'
import { type JobSchedule, scheduleOf } from '../../engine/schedule/slot-job.ts'
import type { Attempt } from '../../engine/work/attempt.ts'
import { decisionOf, releasedEnd } from '../../engine/work/decision.ts'
import { type AttemptEnd, stalledError } from '../../engine/work/outcomes.ts'
import type { WorkType } from '../../engine/work/work-type.ts'
import { asError, encodeError } from '../../error-details.ts'
import type { KeepCount, Storage } from '../../storage/storage.ts'
import { reasonOf, retryDelay, type RetryPolicy } from '../retry.ts'
import { withinTime } from '../time-limit.ts'
import { type CurrentMessage, runWith } from './current-message.ts'
import type { Delivery, MessageHandler } from './message-queue.ts'
import { decodeMessage } from './stored-message.ts'

/** Pause before the storage is asked again how the last run of a message ended, in ms. */
const askAgainMs = 1_000

export interface Delivering {
  readonly handler: MessageHandler
  /** Stored type of the queue. */
  readonly type: string
  readonly leaseMs: number
  readonly keep: readonly KeepCount[]
  readonly timeoutMs: number | undefined
  /** The handler applies the limits of time by itself. */
  readonly handlesTimeouts: boolean
  readonly serde: Serde<unknown>
  readonly retryPolicy: RetryPolicy
  readonly maxSnoozes: number
  readonly replaces: ((message: unknown) => string | undefined) | undefined
  readonly clock: Clock
  /** As the user gave it: by it the queue recognises its own messages. */
  readonly owner: Storage
  readonly storage: Pick<GuardedStorage, 'get'>
  onError(error: Error): void
}

/** How a worker serves the messages of a queue. */
export function deliveryWork(delivering: Delivering): WorkType {
  const { type, leaseMs, serde, keep } = delivering
  return {
    type,
    leaseMs,
    renewMs: leaseMs / 3,
    // The lease is renewed for as long as the handler runs. `timeoutMs` is applied to the handler, so that the retry policy
    // decides about a run that timed out as about any other failure.
    capMs: Infinity,
    hasOwnTimer: true,
    keep,
    run: (attempt, onEnd) => deliver(attempt, delivering).then((end) => onEnd(attempt, end)),
    payloadOf: (bytes) => {
      try {
        return decodeMessage(serde, bytes)
      } catch {
        return undefined
      }
    },
  }
}

/** The identity that `replaces` returns. If it throws, the message has none. */
export function identityOf(replaces: Delivering['replaces'], message: unknown): string | undefined {
  try {
    const identity: unknown = replaces?.(message)
    return typeof identity === 'string' ? identity : undefined
  } catch {
    return undefined
  }
}

/** Never rejects. */
async function deliver(attempt: Attempt, delivering: Delivering): Promise<AttemptEnd> {
  let lost = attempt.counted > 1 && (await wasLost(attempt, delivering))
  // While the storage does not tell, another run could be one too many.
  while (lost === undefined && isGivenUp(attempt, delivering)) {
    await pause(delivering.clock, askAgainMs, attempt.signal)
    if (attempt.signal.aborted) return endOf(attempt, delivering, undefined, attempt.signal.reason)
    lost = await wasLost(attempt, delivering)
  }
  if (lost && isGivenUp(attempt, delivering)) return { ending: { kind: 'failed', stalled: true } }
  let message: unknown
  try {
    message = decodeMessage(delivering.serde, attempt.job.payload)
  } catch (thrown) {
    return { ending: { kind: 'failed', error: encodeError(thrown) }, error: asError(thrown) }
  }
  const current = currentOf(attempt, delivering, message)
  try {
    const returned = await runWith(current, () => callHandler(attempt, delivering, message, lost === true))
    if (isDirective(returned)) throw returned
    current.over = true
    return replaced(current) ?? { ending: { kind: 'completed' }, payload: message }
  } catch (thrown) {
    current.over = true
    return replaced(current) ?? endOf(attempt, delivering, message, thrown)
  }
}

function callHandler(attempt: Attempt, delivering: Delivering, message: unknown, lost: boolean) {
  const { handler, clock, handlesTimeouts } = delivering
  const timeoutMs = handlesTimeouts ? undefined : (attempt.job.timeoutMs ?? delivering.timeoutMs)
  const onTimeout = (running: unknown): unknown => {
    attempt.abort('timeout')
    attempt.abandon(running)
    return attempt.signal.reason
  }
  const run = (): void | Directive | Promise<void | Directive> => handler(message, new StorageDelivery(attempt, lost))
  return withinTime(clock, timeoutMs, onTimeout, run)
}

function currentOf(attempt: Attempt, { owner, type, replaces }: Delivering, message: unknown): CurrentMessage {
  const { id, group } = attempt.job
  const identity = identityOf(replaces, message)
  return { storage: owner, type, id, identity, orderingKey: group, over: false, replacement: undefined }
}

/** Also if the handler threw after the enqueue: the replacement stands. */
function replaced({ replacement }: CurrentMessage): AttemptEnd | undefined {
  return replacement && { ending: { kind: 'released', ...replacement } }
}

function endOf(attempt: Attempt, delivering: Delivering, message: unknown, thrown: unknown): AttemptEnd {
  const decision = decisionOf(attempt, thrown, delivering.maxSnoozes)
  if (decision.kind === 'released') {
    return releasedEnd(decision, decision.cause === undefined ? undefined : encodeError(decision.cause))
  }
  const reason = reasonOf(decision.thrown)
  const shared = { error: asError(reason), payload: message }
  const delayMs =
    decision.kind === 'failed'
      ? null
      : retryDelay(delivering.retryPolicy, failedAttempt(attempt, delivering, thrown), delivering.onError)
  if (delayMs === null) return { ending: { kind: 'failed', error: encodeError(reason) }, ...shared }
  return { ending: { kind: 'retry', error: encodeError(reason), delayMs }, ...shared }
}

function failedAttempt(attempt: Attempt, { clock }: Delivering, error: unknown) {
  const { createdAt, startedAt } = attempt.job
  const elapsedMs = Math.max(0, startedAt - createdAt + clock.monotonic() - attempt.startedAt)
  return { attempt: attempt.counted, elapsedMs, error }
}

/**
 * Whether the last run before this that counts lost its lease: one that was released since, by a stop for example, decided nothing. The storage
 * counts a lost lease as a failure; how many there may be is for the retry policy to decide.
 * @returns undefined if the storage did not tell
 */
async function wasLost({ job }: Attempt, { storage, onError }: Delivering): Promise<boolean | undefined> {
  try {
    const [record] = await storage.get([{ type: job.type, id: job.id }], { parts: ['attempts'] })
    // Of another job under its id there is nothing to learn. Its own lease is over then: a heartbeat will end this attempt.
    if (record?.token !== job.token) return undefined
    // Without later ones: this attempt may have been taken back meanwhile, and the message ended by another worker.
    const before = record.attempts?.filter(({ attempt }) => attempt < job.attempt)
    return before?.findLast(({ outcome }) => outcome !== 'released')?.outcome === 'stalled'
  } catch (error) {
    onError(error as Error)
    return undefined
  }
}

function isGivenUp(attempt: Attempt, delivering: Delivering): boolean {
  const error = stalledError(attempt.job.id)
  const before = { ...failedAttempt(attempt, delivering, error), attempt: attempt.counted - 1 }
  return retryDelay(delivering.retryPolicy, before, delivering.onError) === null
}

/** Tells the worker of a handler that goes on after a timeout of its own. Foreign queues do not count them. */
export function abandonRun(delivery: Delivery | undefined, running: unknown): void {
  if (delivery instanceof StorageDelivery) delivery.abandon(running)
}

class StorageDelivery implements Delivery {
  readonly id: string
  readonly attempt: number
  readonly enqueuedAt: number
  readonly orderingKey: string | undefined
  readonly timeoutMs: number | undefined
  readonly lost: boolean
  readonly schedule: JobSchedule | undefined
  readonly #attempt: Attempt

  constructor(attempt: Attempt, lost: boolean) {
    this.id = attempt.job.id
    this.attempt = attempt.counted
    this.enqueuedAt = attempt.job.createdAt
    this.orderingKey = attempt.job.group
    this.timeoutMs = attempt.job.timeoutMs
    this.lost = lost
    this.schedule = scheduleOf(attempt.job.token)
    this.#attempt = attempt
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  abandon(running: unknown): void {
    this.#attempt.abandon(running)
  }

  progress(value: unknown): void {
    this.#attempt.progress(value)
  }

  log(text: string, fields?: Readonly<Record<string, unknown>>): void {
    this.#attempt.log(text, fields)
  }
}
