// The events of a Queue: events of the engine under the Queue's names.

import type { MaxRetriesError, RateLimitScope } from '../errors.ts'
import type { EngineEvent } from '../engine/events.ts'
import type { Refusal } from '../storage/storage.ts'

/** Events of a Queue and their arguments: what this instance did, emitted after the storage confirmed it. */
export interface QueueEvents<TResult = unknown> {
  /** start() is ready. */
  started: []
  /** stop() has ended. */
  stopped: []
  /** A failure that is not of a job: of the storage, a listener, a hook or a backoff function. */
  error: [error: Error]
  /** The queue accepted a new job. */
  enqueued: [id: string]
  /** A run of this worker completed the job. */
  completed: [id: string, result: TResult]
  /** A run of this worker failed, and the job is retried. A thrown value that is no Error is the cause of one. */
  failing: [id: string, error: Error, attempt: number]
  /** The job failed for good. */
  failed: [id: string, error: MaxRetriesError]
  /** A run of this worker reached timeoutMs, or this worker took back a job whose lease was lost. */
  stalled: [id: string]
  /** The storage refused a run of this worker: the job was taken back, or it ended. */
  fenced: [id: string, attempt: number, verdict: Refusal]
  /** A run of this worker was told to slow down (rateLimited): no job of the scope starts for `retryAfterMs`. */
  rate_limited: [id: string, retryAfterMs: number, scope: RateLimitScope]
  /** The job went back without spending an attempt: at a stop, by snooze() or by rateLimited(). */
  released: [id: string]
  /** Alias of `released`: both are emitted. */
  requeued: [id: string]
  /** cancel() of this instance cancelled the job, or its run ended after `abort`. */
  cancelled: [id: string]
}

/** Names of the engine's events that a queue emits. */
export const emittedNames: Readonly<Partial<Record<EngineEvent['name'], keyof QueueEvents>>> = {
  added: 'enqueued',
  completed: 'completed',
  failing: 'failing',
  failed: 'failed',
  stalled: 'stalled',
  fenced: 'fenced',
  rate_limited: 'rate_limited',
  released: 'requeued',
  cancelled: 'cancelled',
  error: 'error',
}

export function emittedArguments(event: EngineEvent): unknown[] {
  switch (event.name) {
    case 'completed':
      return [event.id, event.result]
    case 'failing':
      return [event.id, event.error, event.attempt]
    case 'failed':
      return [event.id, event.error]
    case 'fenced':
      return [event.id, event.attempt, event.verdict]
    case 'rate_limited':
      return [event.id, event.retryAfterMs, event.scope]
    case 'error':
      return [event.error]
    default:
      return 'id' in event ? [event.id] : []
  }
}
