// Events of Queue and Reaper. A listener that throws or rejects harms nobody but is heard of; an error that nobody listens
// for goes to the logger, else becomes a warning of the process, and is never thrown.

import type { EventEmitter } from 'node:events'
import { asError } from '../error-details.ts'

/** Structural: pino and console fit. */
export interface Logger {
  debug?(data: object, message: string): void
  info?(data: object, message: string): void
  warn?(data: object, message: string): void
  error?(data: object, message: string): void
}

// Any map of events: the emitters' own types say which.
type AnyEmitter = EventEmitter<any>

export function emitSafely(emitter: AnyEmitter, logger: Logger | undefined, event: string, ...args: unknown[]): void {
  if (emitter.listenerCount(event) === 0) {
    if (event === 'error') reportError(logger, args[0])
    return
  }
  for (const listener of emitter.rawListeners(event)) {
    try {
      const returned: unknown = Reflect.apply(listener, emitter, args)
      if (returned instanceof Promise) {
        returned.catch((problem: unknown) => reportListener(emitter, logger, event, problem))
      }
    } catch (problem) {
      reportListener(emitter, logger, event, problem)
    }
  }
}

function reportListener(emitter: AnyEmitter, logger: Logger | undefined, event: string, problem: unknown): void {
  const error = new Error(`a listener of '${event}' failed`, { cause: problem })
  // A failing error listener has nobody to tell but the log.
  if (event === 'error') reportError(logger, error)
  else emitSafely(emitter, logger, 'error', error)
}

function reportError(logger: Logger | undefined, thrown: unknown): void {
  const error = asError(thrown)
  try {
    if (logger?.error) logger.error({ err: error }, error.message)
    else process.emitWarning(error)
  } catch {
    // A logger that throws is not told about itself.
  }
}
