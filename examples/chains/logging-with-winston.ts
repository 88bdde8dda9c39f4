// node --conditions=@holdfast/source examples/chains/logging-with-winston.ts
//
// Logging with winston: its methods take the message first, so a `logger` of Holdfast is four short functions. Each attempt of a job
// (parts/greeting.ts) has a child logger (parts/logger-per-attempt.ts).

import type { Logger } from 'holdfast'
import { createLogger, format, transports } from 'winston'
import { greet } from './parts/greeting.ts'
import { loggerPerAttempt } from './parts/logger-per-attempt.ts'

const root = createLogger({
  level: 'debug',
  format: format.combine(format.timestamp(), format.json()),
  transports: [new transports.Console()],
})

/** JSON drops the fields of an Error: its stack is text. */
const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

const at =
  (level: 'debug' | 'info' | 'warn' | 'error') =>
  (data: object, message: string): void => {
    const { err, ...rest } = data as { err?: unknown }
    root.log({ level, message, ...rest, error: err === undefined ? undefined : stackOf(err) })
  }

const logger: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }

const { attemptLogger, inContext } = loggerPerAttempt({
  root,
  childOf: (about) => root.child(about),
  warn: (own, message, error) => void own.warn(message, { error: stackOf(error) }),
})

await greet({ logger, inContext, attemptLogger })
