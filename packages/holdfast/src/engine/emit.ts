// Emits the events of Queue and Reaper. A listener that throws or rejects is reported as an `error` event, and the others go on.
// An `error` event without a listener goes to the logger, else to process.emitWarning(). It is never thrown.

import type { EventEmitter } from 'node:events'
import { asError } from '../error-details.ts'

/** Receives log entries, each with an object of data and a message. Structural: pino and console fit. */
export interface Logger {
  /** Completed jobs. */
  debug?(data: object, message: string): void
  /** Starts, stops, releases, cancels. */
  info?(data: object, message: string): void
  /** Retried failures, stalls, lost connections. */
  warn?(data: object, message: string): void
  /** Final failures, and errors that no call returned. */
  error?(data: object, message: string): void
}

// The emitters' own types say which events they have.
type AnyEmitter = EventEmitter<any>

export function emitSafely(emitter: AnyEmitter, logger: Logger | undefined, event: string, ...args: unknown[]): void {
  const listeners = emitter.rawListeners(event)
  if (listeners.length === 0 && event === 'error') reportError(logger, args[0])
  // By index: `completed` is emitted for every job, and an iterator for each would be made.
  for (let index = 0; index < listeners.length; index++) {
    try {
      const returned: unknown = Reflect.apply(listeners[index]!, emitter, args)
      if (returned instanceof Promise) {
        returned.catch((problem: unknown) => reportListener(emitter, logger, event, problem))
      }
    } catch (problem) {
      reportListener(emitter, logger, event, problem)
    }
  }
}

function reportListener(emitter: AnyEmitter, logger: Logger | undefined, event: string, problem: unknown): void {
  const reason = asError(problem).message
  const message = `event '${event}': a listener failed: ${reason}. The job and other listeners are not affected.`
  const error = new Error(message, { cause: problem })
  // A failing `error` listener is reported to the logger: another event would call it again.
  if (event === 'error') reportError(logger, error)
  else emitSafely(emitter, logger, 'error', error)
}

function reportError(logger: Logger | undefined, thrown: unknown): void {
  const error = asError(thrown)
  try {
    if (logger?.error) logger.error({ err: error }, error.message)
    else process.emitWarning(error)
  } catch {
    // A logger that throws: there is no place left to report it.
  }
}
