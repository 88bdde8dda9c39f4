// Where tasks and the storage's queue log: the given logger, else NODE_DEBUG=holdfast.

import { debuglog } from 'node:util'
import type { Logger } from '../../engine/emit.ts'

type Level = 'debug' | 'info' | 'warn' | 'error'
export type Log = Record<Level, (data: object, message: string) => void>

const debug = debuglog('holdfast')

/** Never throws: what a logger throws is dropped. */
export function logTo(logger: Logger | undefined): Log {
  const at =
    (level: Level) =>
    (data: object, message: string): void => {
      try {
        if (!logger) debug('%s: %s %o', level, message, data)
        else logger[level]?.(data, message)
      } catch {
        // Dropped: there is no other place to report it.
      }
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** For the events of the engine, which every job causes: undefined where no record would be written. */
export function eventSink(logger: Logger | undefined): Logger | undefined {
  return logger ?? (debug.enabled ? logTo(undefined) : undefined)
}
