// For any logging library: a child logger per attempt, which handlers and the functions they call read from the async context. Every
// line names its job and attempt.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { JobAttemptMiddleware } from 'holdfast/chains'

interface Library<Logger> {
  readonly root: Logger
  childOf(about: Readonly<Record<string, string | number>>): Logger
  warn(logger: Logger, message: string, error: unknown): void
}

export function loggerPerAttempt<Logger extends { info(message: string): unknown }>(library: Library<Logger>) {
  const context = new AsyncLocalStorage<Logger>()
  const attemptLogger = (): Logger => context.getStore() ?? library.root
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
  return { attemptLogger, inContext }
}
