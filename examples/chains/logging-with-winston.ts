// node --conditions=@holdfast/source examples/chains/logging-with-winston.ts
//
// With winston: what Holdfast tells as log lines, and a child logger for each attempt, which handlers and all that they call
// find in the context. Nothing has to be handed on, and every line says which job it belongs to. The job is that of
// parts/greeting.ts.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { JobAttemptMiddleware, Log } from 'holdfast'
import { createLogger, format, type Logger, transports } from 'winston'
import { greet } from './parts/greeting.ts'

const root = createLogger({
  level: 'debug',
  format: format.combine(format.timestamp(), format.json()),
  transports: [new transports.Console()],
})
const context = new AsyncLocalStorage<Logger>()

/** JSON makes nothing of an error: its stack is text. */
const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

const log: Log = ({ level, event, message, data, error }) => {
  root.log({ level, message, event, ...data, error: error === undefined ? undefined : stackOf(error) })
}

const inContext: JobAttemptMiddleware = async ({ job, workerId }, next) => {
  const own = root.child({ typeName: job.typeName, jobId: job.id, attempt: job.attempt, workerId })
  try {
    const result = await context.run(own, next) // resolves after the commit
    own.info('committed')
    return result
  } catch (error) {
    own.warn('failed', { error: stackOf(error) })
    throw error
  }
}

async function greetingFor(name: string): Promise<string> {
  const logger = context.getStore() ?? root
  logger.info('thinking of something nice')
  return `hello, ${name}`
}

await greet({ log, inContext, greetingFor })
