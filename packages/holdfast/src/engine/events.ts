// The events of the engine: one typed object per event. Logs, metrics, traces and the events of the faces are listeners.
// To subscribe to all events of this process:
//
//   diagnostics_channel.subscribe('holdfast', (event) => …)

import { channel } from 'node:diagnostics_channel'
import type { MaxRetriesError } from '../errors.ts'
import type { ClaimedJob, EndReason, JobRef, Refusal, SettleVerdict } from '../storage/storage.ts'

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
  | ({ readonly name: 'completed'; readonly result: unknown; readonly durationMs: number } & OfAttempt & OfEnd)
  | ({ readonly name: 'failing'; readonly error: Error; readonly runAt: number | undefined } & OfAttempt &
      OfClaim &
      OfRun)
  | ({ readonly name: 'failed'; readonly error: MaxRetriesError; readonly reason?: EndReason } & OfAttempt &
      OfEnd &
      OfRun)
  | ({ readonly name: 'stalled' } & JobRef)
  | ({ readonly name: 'released' } & OfAttempt & OfClaim)
  | ({ readonly name: 'cancelled' } & JobRef & OfEnd)
  | ({ readonly name: 'fenced'; readonly verdict: Refusal } & OfAttempt)
  | { readonly name: 'loop_stalled'; readonly ms: number; readonly types: readonly string[] }
  | { readonly name: 'worker_online' | 'worker_offline'; readonly label: string; readonly types: readonly string[] }
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
export type Tell = (event: EngineEvent) => void

const everything = channel('holdfast')

/** Whether the channel of this process has a subscriber. To be asked before an event that every job causes. */
export const isWatched = (): boolean => everything.hasSubscribers

/**
 * Returns a function that publishes an event on the channel of this process, then calls the listener of the face.
 * @typeParam E the events of the face, if it has its own
 */
export function teller<E extends object = EngineEvent>(own: (event: E) => void): (event: E) => void {
  return (event) => {
    if (everything.hasSubscribers) everything.publish(event)
    own(event)
  }
}
