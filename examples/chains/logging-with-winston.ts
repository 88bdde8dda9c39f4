// node --conditions=@holdfast/source examples/chains/logging-with-winston.ts
//
// With winston: what Holdfast tells as log lines, and a child logger for each attempt (parts/logger-per-attempt.ts) of a job
// (parts/greeting.ts).

import type { Log } from 'holdfast/chains'
import { createLogger, format, transports } from 'winston'
import { greet } from './parts/greeting.ts'
import { loggerPerAttempt } from './parts/logger-per-attempt.ts'

const root = createLogger({
  level: 'debug',
  format: format.combine(format.timestamp(), format.json()),
  transports: [new transports.Console()],
})

/** JSON makes nothing of an error: its stack is text. */
const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

const log: Log = ({ level, event, message, data, error }) => {
  root.log({ level, message, event, ...data, error: error === undefined ? undefined : stackOf(error) })
}

const { logger, inContext } = loggerPerAttempt({
  root,
  childOf: (about) => root.child(about),
  warn: (own, message, error) => void own.warn(message, { error: stackOf(error) }),
})

await greet({ log, inContext, logger })
