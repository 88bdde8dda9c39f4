// What a Queue emits: the engine's events in its own words.

import type { MaxRetriesError } from './errors.ts'
import type { EngineEvent } from './events.ts'
import type { Refusal } from './storage/storage.ts'

/** What this instance did, after the storage confirmed it. */
export interface QueueEvents<TResult = unknown> {
  started: []
  stopped: []
  /** Anything that is no job's own failure. */
  error: [error: Error]
  enqueued: [id: string]
  completed: [id: string, result: TResult]
  failing: [id: string, error: Error, attempt: number]
  failed: [id: string, error: MaxRetriesError]
  /** It gave its own attempt up, or took back a lost lease. */
  stalled: [id: string]
  /** Its attempt was no longer its own. */
  fenced: [id: string, attempt: number, verdict: Refusal]
  /** Released at stop. */
  requeued: [id: string]
  cancelled: [id: string]
}

/** The engine's event as the queue says it. Absent: nothing that it says. */
export function emittedAs(event: EngineEvent): [name: keyof QueueEvents, ...args: unknown[]] | undefined {
  switch (event.name) {
    case 'added':
      return ['enqueued', event.id]
    case 'completed':
      return ['completed', event.id, event.result]
    case 'failing':
      return ['failing', event.id, event.error, event.attempt]
    case 'failed':
      return ['failed', event.id, event.error]
    case 'stalled':
      return ['stalled', event.id]
    case 'fenced':
      return ['fenced', event.id, event.attempt, event.verdict]
    case 'released':
      return ['requeued', event.id]
    case 'cancelled':
      return ['cancelled', event.id]
    case 'error':
      return ['error', event.error]
    default:
      return undefined
  }
}
