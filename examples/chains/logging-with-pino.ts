// node --conditions=@holdfast/source examples/chains/logging-with-pino.ts
//
// With pino: what Holdfast tells as log lines, and a child logger for each attempt, which handlers and all that they call find
// in the context. Nothing has to be handed on, and every line says which job it belongs to. The job is that of parts/greeting.ts.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { JobAttemptMiddleware, Log } from 'holdfast'
import { type Logger, pino } from 'pino'
import { greet } from './parts/greeting.ts'

const root = pino({ level: 'debug' })
const context = new AsyncLocalStorage<Logger>()

/** An error is written with its stack under `err`. */
const log: Log = ({ level, event, message, data, error }) =>
  root[level]({ event, ...data, error: undefined, err: error }, message)

const inContext: JobAttemptMiddleware = async ({ job, workerId }, next) => {
  const own = root.child({ typeName: job.typeName, jobId: job.id, attempt: job.attempt, workerId })
  try {
    const result = await context.run(own, next) // resolves after the commit
    own.info('committed')
    return result
  } catch (error) {
    own.warn({ err: error }, 'failed')
    throw error
  }
}

async function greetingFor(name: string): Promise<string> {
  const logger = context.getStore() ?? root
  logger.info('thinking of something nice')
  return `hello, ${name}`
}

await greet({ log, inContext, greetingFor })
