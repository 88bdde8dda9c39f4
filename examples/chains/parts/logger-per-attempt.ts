// For any logging library: a logger of its own for each attempt, which handlers and all that they call find in the context.
// Nothing has to be handed on, and every line says which job it belongs to.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { JobAttemptMiddleware } from 'holdfast/chains'

interface Library<Logger> {
  readonly root: Logger
  childOf(about: Readonly<Record<string, string | number>>): Logger
  warn(logger: Logger, message: string, error: unknown): void
}

export function loggerPerAttempt<Logger extends { info(message: string): unknown }>(library: Library<Logger>) {
  const context = new AsyncLocalStorage<Logger>()
  const logger = (): Logger => context.getStore() ?? library.root
  const inContext: JobAttemptMiddleware = async ({ job, workerId }, next) => {
    const own = library.childOf({ typeName: job.typeName, jobId: job.id, attempt: job.attempt, workerId })
    try {
      const result = await context.run(own, next) // resolves after the commit
      own.info('committed')
      return result
    } catch (error) {
      library.warn(own, 'failed', error)
      throw error
    }
  }
  return { logger, inContext }
}
