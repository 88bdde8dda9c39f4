// node --conditions=@holdfast/source examples/chains/logging-with-pino.ts
//
// With pino: what Holdfast tells as log lines, and a child logger for each attempt (parts/logger-per-attempt.ts) of a job
// (parts/greeting.ts).

import type { Log } from 'holdfast/chains'
import { pino } from 'pino'
import { greet } from './parts/greeting.ts'
import { loggerPerAttempt } from './parts/logger-per-attempt.ts'

const root = pino({ level: 'debug' })

/** An error is written with its stack under `err`. */
const log: Log = ({ level, event, message, data, error }) =>
  root[level]({ event, ...data, error: undefined, err: error }, message)

const { logger, inContext } = loggerPerAttempt({
  root,
  childOf: (about) => root.child(about),
  warn: (own, message, error) => own.warn({ err: error }, message),
})

await greet({ log, inContext, logger })
