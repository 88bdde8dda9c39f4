// The events of the engine: one typed map, one object per event. Logs, metrics, traces and the events of the faces are
// listeners of it. To subscribe to everything in this process:
//
//   diagnostics_channel.subscribe('holdfast', (event) => …)

import { channel } from 'node:diagnostics_channel'
import type { MaxRetriesError } from '../errors.ts'
import type { ClaimedJob, EndReason, JobRef, Refusal, SettleVerdict } from '../storage/storage.ts'

interface OfAttempt extends JobRef {
  /** Attempts that count, this one included. */
  readonly attempt: number
}

/** Of an attempt of this worker: the job as it was claimed, and what the storage made of its outcome. */
interface OfClaim {
  readonly job?: ClaimedJob
}
interface OfEnd extends OfClaim {
  readonly verdict?: SettleVerdict & { readonly verdict: 'settled' }
  /** Of a job that the storage ended by itself: the chain that ended with it. */
  readonly chain?: JobRef
}
/** How long the handler ran. */
interface OfRun {
  readonly durationMs?: number
}

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
  /** Calls to the storage began to fail for want of an answer; and the first that succeeded after that. */
  | { readonly name: 'connection_lost'; readonly driver: string; readonly error: Error }
  | { readonly name: 'connection_restored'; readonly driver: string; readonly ms: number }
  | ({ readonly name: 'renewed' | 'lease_expired' } & OfAttempt & OfClaim)

export type Tell = (event: EngineEvent) => void

const everything = channel('holdfast')

/** Whether this process has a subscriber to everything. Asked before an event that every job causes. */
export const isWatched = (): boolean => everything.hasSubscribers

/** Publishes on the channel of this process, then calls the one listener that a face has of its own. A face may have events of its own. */
export function teller<E extends object = EngineEvent>(own: (event: E) => void): (event: E) => void {
  return (event) => {
    if (everything.hasSubscribers) everything.publish(event)
    own(event)
  }
}
