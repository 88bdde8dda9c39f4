// node --conditions=@holdfast/source examples/chains/logging-with-pino.ts
//
// Logging with pino: a pino logger is a `logger` of Holdfast as it is. Each attempt of a job (parts/greeting.ts) has a child logger
// (parts/logger-per-attempt.ts).

import { pino } from 'pino'
import { greet } from './parts/greeting.ts'
import { loggerPerAttempt } from './parts/logger-per-attempt.ts'

const logger = pino({ level: 'debug' })

const { attemptLogger, inContext } = loggerPerAttempt({
  root: logger,
  childOf: (about) => logger.child(about),
  warn: (own, message, error) => own.warn({ err: error }, message),
})

await greet({ logger, inContext, attemptLogger })
