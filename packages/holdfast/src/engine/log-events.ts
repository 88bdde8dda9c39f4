// Writes the events of the engine to a logger, each at its level. One listener for every face.

import { parseType } from '../storage/stored-type.ts'
import type { Logger } from './emit.ts'
import type { EngineEvent, PublishEvent } from './events.ts'

type Level = 'debug' | 'info' | 'warn' | 'error'
type Entry = readonly [level: Level, message: string, data?: object]

/**
 * @param subject begins each message, such as "queue 'mail'"
 * @returns undefined without a logger: then no message is built
 */
export function eventLog(logger: Logger | undefined, subject: string): PublishEvent | undefined {
  if (!logger) return undefined
  return (event) => {
    const entry = entryOf(event)
    if (!entry) return
    const [level, message, data] = entry
    try {
      logger[level]?.({ ...about(event), ...data }, `${subject}: ${message}`)
    } catch {
      // A logger that throws: there is no place left to report it.
    }
  }
}

/** `error` events are not here: emit.ts logs those without a listener. */
function entryOf(event: EngineEvent): Entry | undefined {
  switch (event.name) {
    case 'worker_online':
      return ['info', 'worker started', { workerId: event.label }]
    case 'worker_offline':
      return ['info', 'worker stopped', { workerId: event.label }]
    case 'failing':
      return [
        'warn',
        `job '${event.id}' failed attempt ${event.attempt} and is retried`,
        { err: event.error, runAt: event.runAt },
      ]
    case 'failed':
      return [
        'error',
        `job '${event.id}' failed for good after ${event.attempt} attempts`,
        { err: event.error.lastError },
      ]
    case 'stalled':
      return ['warn', `job '${event.id}' stalled: its attempt timed out or lost its lease, and the job was taken back`]
    case 'fenced':
      return ['warn', `job '${event.id}': the outcome of attempt ${event.attempt} was refused (${event.verdict})`]
    case 'lease_expired':
      return ['warn', `job '${event.id}': the lease of attempt ${event.attempt} could not be renewed in time`]
    case 'rate_limited': {
      const { id, scope, retryAfterMs, runAt } = event
      const what = scope === 'job' ? 'it waits' : `the jobs of its ${scope} wait`
      return ['warn', `job '${id}' was told to slow down: ${what} for ${retryAfterMs} ms`, { scope, runAt }]
    }
    case 'released':
      return ['info', `job '${event.id}' was released without spending attempt ${event.attempt}`]
    case 'cancelled':
      return [
        'info',
        `job '${event.id}' was cancelled${event.reason === 'expired' ? ': it was not started in time' : ''}`,
      ]
    case 'loop_stalled':
      return ['warn', `the event loop was blocked for ${Math.round(event.ms)} ms`, { types: event.types }]
    case 'handler_abandoned':
      return [
        'warn',
        `job '${event.id}': the handler of attempt ${event.attempt} goes on after its timeout. Its result is dropped. Pass its signal on, so that it ends`,
      ]
    case 'connection_lost':
      return ['warn', `the ${event.driver} storage does not answer; calls are retried`, { err: event.error }]
    case 'connection_restored':
      return ['info', `the ${event.driver} storage answers again after ${Math.round(event.ms)} ms`]
    case 'presence_failed':
      return ['debug', 'the entry of the worker could not be written; its work is not affected', { err: event.error }]
    case 'schedule_fired':
      return ['debug', `schedule '${event.schedule}' added job '${event.id}'`, { slotAt: event.slotAt }]
    case 'schedule_skipped':
      return ['warn', `schedule '${event.schedule}' passed over ${event.count} slots`]
    case 'finding': {
      const { severity, sentence, code, fix } = event
      return [severity === 'error' ? 'error' : 'warn', sentence, { code, fix }]
    }
    case 'completed':
      return ['debug', `job '${event.id}' completed`, { durationMs: event.durationMs }]
    default:
      return undefined
  }
}

function about(event: EngineEvent): object {
  if (!('id' in event)) return {}
  const { face, name } = parseType(event.type)
  return { face, name, jobId: event.id }
}
