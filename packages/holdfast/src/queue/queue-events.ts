// The events of a Queue: those of the engine under the Queue's names.

import type { MaxRetriesError } from '../errors.ts'
import type { EngineEvent } from '../engine/events.ts'
import type { Refusal } from '../storage/storage.ts'

/** What this instance did, emitted after the storage confirmed it. */
export interface QueueEvents<TResult = unknown> {
  started: []
  stopped: []
  /** Anything that is no job's own failure. */
  error: [error: Error]
  enqueued: [id: string]
  completed: [id: string, result: TResult]
  failing: [id: string, error: Error, attempt: number]
  failed: [id: string, error: MaxRetriesError]
  /** This instance gave up its own attempt, or took back a lost lease. */
  stalled: [id: string]
  /** An attempt of this worker was no longer its own. */
  fenced: [id: string, attempt: number, verdict: Refusal]
  /** Given back without spending an attempt: at a stop, or by snooze(). */
  released: [id: string]
  /** Alias of `released`: both are emitted. */
  requeued: [id: string]
  cancelled: [id: string]
}

/** The engine's events that a queue emits, under its own names. */
export const emittedNames: Readonly<Partial<Record<EngineEvent['name'], keyof QueueEvents>>> = {
  added: 'enqueued',
  completed: 'completed',
  failing: 'failing',
  failed: 'failed',
  stalled: 'stalled',
  fenced: 'fenced',
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
    case 'error':
      return [event.error]
    default:
      return 'id' in event ? [event.id] : []
  }
}
