// Where tasks and the storage queue write what they have to say: a logger that was given, else NODE_DEBUG=holdfast.

import { debuglog } from 'node:util'
import type { Logger } from '../../engine/emit.ts'

type Level = 'debug' | 'info' | 'warn' | 'error'
export type Log = Record<Level, (data: object, message: string) => void>

const debug = debuglog('holdfast')

/** A logger that throws harms nobody. */
export function logTo(logger: Logger | undefined): Log {
  const at =
    (level: Level) =>
    (data: object, message: string): void => {
      try {
        if (!logger) debug('%s: %s %o', level, message, data)
        else logger[level]?.(data, message)
      } catch {
        // It is not told about itself.
      }
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
