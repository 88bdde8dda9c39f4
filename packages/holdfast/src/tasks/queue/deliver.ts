// One delivery of a message, from its bytes to its outcome:
//
//   lost with its worker before? the policy may give it up → decode → handler → completed
//                                    replaced by its handler, or stopped → released; thrown → retry or failed

import type { Clock } from '../../clock.ts'
import { asError, encodeError } from '../../error-details.ts'
import type { GuardedStorage } from '../../engine/guard.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Attempt } from '../../engine/work/attempt.ts'
import { type AttemptEnd, stalledError } from '../../engine/work/outcomes.ts'
import type { WorkType } from '../../engine/work/work-type.ts'
import { type InHand, runWith } from './in-hand.ts'
import type { Delivery, MessageHandler } from './message-queue.ts'
import { delayAfter, isRetryError, type RetryPolicy } from '../retry.ts'
import { decodeMessage } from './stored-message.ts'

export interface Delivering {
  readonly handler: MessageHandler
  readonly name: string
  readonly leaseMs: number
  readonly retryPolicy: RetryPolicy
  readonly replaces: ((message: unknown) => string | undefined) | undefined
  readonly clock: Clock
  /** As the user gave it: by it the queue knows its own messages. */
  readonly owner: Storage
  readonly storage: Pick<GuardedStorage, 'get'>
  onError(error: Error): void
}

/** Its record goes at once. */
const completed = { kind: 'completed', keepMs: 0 } as const

/** The messages of a queue, as a worker serves them. */
export function deliveryWork(delivering: Delivering): WorkType {
  return {
    type: delivering.name,
    leaseMs: delivering.leaseMs,
    renewMs: delivering.leaseMs / 3,
    // A handler may take its time: its lease is kept while it runs.
    capMs: Infinity,
    run: (attempt) => deliver(attempt, delivering),
    payloadOf: (bytes) => {
      try {
        return decodeMessage(bytes)
      } catch {
        return undefined
      }
    },
  }
}

/** The identity that `replaces` finds; one that throws finds none. */
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
  const lost = attempt.counted > 1 && (await wasLost(attempt, delivering))
  if (lost && gaveUp(attempt, delivering)) return { ending: { kind: 'failed', stalled: true } }
  let message: unknown
  try {
    message = decodeMessage(attempt.job.payload)
  } catch (thrown) {
    return { ending: { kind: 'failed', error: encodeError(thrown) }, error: asError(thrown) }
  }
  const held = hold(attempt, delivering, message)
  try {
    await runWith(held, () => delivering.handler(message, new StorageDelivery(attempt, lost)))
    held.over = true
    return released(held) ?? { ending: completed, payload: message }
  } catch (thrown) {
    held.over = true
    if (attempt.abortedFor === 'stopping') return released(held) ?? { ending: { kind: 'released' } }
    return released(held) ?? failed(attempt, delivering, message, thrown)
  }
}

function hold(attempt: Attempt, { owner, name, replaces }: Delivering, message: unknown): InHand {
  const { id, group } = attempt.job
  const identity = identityOf(replaces, message)
  return { storage: owner, name, id, identity, orderingKey: group, over: false, replacement: undefined }
}

/** Also if its handler threw after it: the replacement stands. */
function released({ replacement }: InHand): AttemptEnd | undefined {
  return replacement && { ending: { kind: 'released', ...replacement } }
}

function failed(attempt: Attempt, delivering: Delivering, message: unknown, thrown: unknown): AttemptEnd {
  const delayMs = delayAfter(delivering.retryPolicy, failedAttempt(attempt, delivering, thrown), delivering.onError)
  // A RetryError only says when; what went wrong is its cause.
  const what = isRetryError(thrown) && 'cause' in thrown ? thrown.cause : thrown
  const shared = { error: asError(what), payload: message }
  if (delayMs === null) return { ending: { kind: 'failed', error: encodeError(what) }, ...shared }
  return { ending: { kind: 'retry', error: encodeError(what), delayMs }, ...shared }
}

function failedAttempt(attempt: Attempt, { clock }: Delivering, error: unknown) {
  const { createdAt, startedAt } = attempt.job
  const elapsedMs = Math.max(0, startedAt - createdAt + clock.monotonic() - attempt.startedAt)
  return { attempt: attempt.counted, elapsedMs, error }
}

/** The storage counts a lost lease as a failure, but leaves to us how many there may be. */
async function wasLost({ job }: Attempt, { storage, onError }: Delivering): Promise<boolean> {
  try {
    const [record] = await storage.get([{ type: job.type, id: job.id }], { parts: ['attempts'] })
    return record?.attempts?.at(-1)?.outcome === 'stalled'
  } catch (error) {
    onError(error as Error)
    return false
  }
}

function gaveUp(attempt: Attempt, delivering: Delivering): boolean {
  const before = { ...failedAttempt(attempt, delivering, stalledError(attempt.job.id)), attempt: attempt.counted - 1 }
  return delayAfter(delivering.retryPolicy, before, delivering.onError) === null
}

class StorageDelivery implements Delivery {
  readonly id: string
  readonly attempt: number
  readonly enqueuedAt: number
  readonly orderingKey: string | undefined
  readonly lost: boolean
  readonly #attempt: Attempt

  constructor(attempt: Attempt, lost: boolean) {
    this.id = attempt.job.id
    this.attempt = attempt.counted
    this.enqueuedAt = attempt.job.createdAt
    this.orderingKey = attempt.job.group
    this.lost = lost
    this.#attempt = attempt
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }
}
