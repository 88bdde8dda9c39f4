// The events of the engine: one typed object per event. Logs, metrics, traces and the events of the faces are listeners.
// To subscribe to all events of this process:
//
//   diagnostics_channel.subscribe('holdfast', (event) => …)

import { channel } from 'node:diagnostics_channel'
import type { MaxRetriesError, RateLimitScope } from '../errors.ts'
import type { ClaimedJob, EndReason, Finding, JobRef, Refusal, SettleVerdict } from '../storage/storage.ts'

interface OfAttempt extends JobRef {
  /** Attempts that count, this one included. */
  readonly attempt: number
}

interface OfClaim {
  /** The job as this worker claimed it. Absent: the job did not run here. */
  readonly job?: ClaimedJob
}
interface OfEnd extends OfClaim {
  /** What the storage made of the outcome. */
  readonly verdict?: SettleVerdict & { readonly verdict: 'settled' }
  /** The chain that ended with the job, if the storage ended the job by itself. */
  readonly chain?: JobRef
}
interface OfRun {
  /** How long the handler ran, in ms. */
  readonly durationMs?: number
}

/** An event of the engine, as published on the channel `holdfast` of node:diagnostics_channel. */
export type EngineEvent =
  | ({ readonly name: 'added' } & JobRef)
  | ({ readonly name: 'started' } & OfAttempt & OfClaim)
  /** A running attempt reported progress, and the storage has it. Only with a subscriber of the channel. */
  | ({ readonly name: 'progress'; readonly value: unknown } & OfAttempt)
  | ({ readonly name: 'completed'; readonly result: unknown; readonly durationMs: number } & OfAttempt & OfEnd)
  | ({ readonly name: 'failing'; readonly error: Error; readonly runAt: number | undefined } & OfAttempt &
      OfClaim &
      OfRun)
  | ({ readonly name: 'failed'; readonly error: MaxRetriesError; readonly reason?: EndReason } & OfAttempt &
      OfEnd &
      OfRun)
  | ({ readonly name: 'stalled' } & JobRef)
  | ({ readonly name: 'released' } & OfAttempt & OfClaim)
  /** The handler was told to slow down (rateLimited): no job of the scope starts before `runAt`. A `released` follows. */
  | ({
      readonly name: 'rate_limited'
      readonly scope: RateLimitScope
      readonly retryAfterMs: number
      /** Epoch ms, by the storage's clock. */
      readonly runAt: number | undefined
    } & OfAttempt &
      OfClaim)
  /** @param reason `expired`: the job was not started in time; absent: it was cancelled by a call */
  | ({ readonly name: 'cancelled'; readonly reason?: EndReason } & JobRef & OfEnd)
  | ({ readonly name: 'fenced'; readonly verdict: Refusal } & OfAttempt)
  /** The handler goes on 500 ms after its attempt timed out. Its result is dropped. */
  | ({ readonly name: 'handler_abandoned' } & OfAttempt)
  /** The event loop was blocked for more than a third of a lease, in ms; and the types that ran. */
  | { readonly name: 'loop_stalled'; readonly ms: number; readonly types: readonly string[] }
  | { readonly name: 'worker_online' | 'worker_offline'; readonly label: string; readonly types: readonly string[] }
  /** The entry of the worker (workers()) could not be written or deleted. Its work is not affected. */
  | { readonly name: 'presence_failed'; readonly error: Error }
  /** An operator paused or resumed a type, or a group of it. */
  | {
      readonly name: 'paused' | 'resumed'
      readonly type: string
      readonly group?: string | undefined
      readonly by?: string | undefined
    }
  /** A slot of a schedule added its job; without `slotAt`, fire() did. */
  | ({ readonly name: 'schedule_fired'; readonly schedule: string; readonly slotAt?: number } & JobRef)
  /** So many slots of a schedule were passed over: missed, or their predecessor had not ended. At most 100 are counted. */
  | { readonly name: 'schedule_skipped'; readonly schedule: string; readonly type: string; readonly count: number }
  /** doctor() found something that it had not found when it was called before, by this handle. */
  | ({ readonly name: 'finding' } & Finding)
  /** An operator deleted the record of an ended job. */
  | ({ readonly name: 'removed' } & JobRef)
  | {
      readonly name: 'storage_call'
      readonly driver: string
      readonly verb: string
      readonly ok: boolean
      readonly ms: number
    }
  | { readonly name: 'error'; readonly error: Error }
  /** The storage stopped answering calls; and the first call that it answered after that, `ms` later. */
  | { readonly name: 'connection_lost'; readonly driver: string; readonly error: Error }
  | { readonly name: 'connection_restored'; readonly driver: string; readonly ms: number }
  | ({ readonly name: 'renewed' | 'lease_expired' } & OfAttempt & OfClaim)

/** Publishes an event. */
export type PublishEvent = (event: EngineEvent) => void

const everything = channel('holdfast')

/** Whether the channel of this process has a subscriber. To be asked before an event that every job causes. */
export const isWatched = (): boolean => everything.hasSubscribers

/** Publishes an event on the channel of this process alone. */
export const publishToProcess: PublishEvent = (event) => everything.publish(event)

/**
 * Returns a function that publishes an event on the channel of this process, then calls the listener of the face.
 * @typeParam E the events of the face, if it has its own
 */
export function eventPublisher<E extends object = EngineEvent>(own: (event: E) => void): (event: E) => void {
  return (event) => {
    if (everything.hasSubscribers) everything.publish(event)
    own(event)
  }
}
