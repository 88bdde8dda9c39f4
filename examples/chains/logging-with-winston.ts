// node --conditions=@holdfast/source examples/chains/logging-with-winston.ts
//
// With winston: what Holdfast tells as log lines, and a child logger for each attempt, which handlers and all that they call
// find in the context. Nothing has to be handed on, and every line says which job it belongs to.

import { AsyncLocalStorage } from 'node:async_hooks'
import { createClient, createInProcessWorker, defineJobTypes, type JobAttemptMiddleware, type Log } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'
import { createLogger, format, type Logger, transports } from 'winston'

const root = createLogger({
  level: 'debug',
  format: format.combine(format.timestamp(), format.json()),
  transports: [new transports.Console()],
})
const context = new AsyncLocalStorage<Logger>()
const logger = (): Logger => context.getStore() ?? root

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

/** Knows nothing of jobs. */
async function greetingFor(name: string): Promise<string> {
  logger().info('thinking of something nice')
  return `hello, ${name}`
}

const storage = new SqliteStorage({ path: ':memory:' })
const jobTypeRegistry = defineJobTypes<{ greet: { entry: true; input: string; output: string } }>()
const client = await createClient({ storage, jobTypeRegistry, log })
const worker = await createInProcessWorker({
  storage,
  jobTypeRegistry,
  log,
  workerId: 'worker-1',
  jobTypeProcessing: { jobAttemptMiddlewares: [inContext], defaultRetryConfig: { initialDelayMs: 20 } },
  jobTypeProcessors: {
    greet: {
      process: async ({ job, complete }) => {
        if (job.attempt === 1) throw new Error('lost my voice')
        return complete(await greetingFor(job.input))
      },
    },
  },
})
const stop = await worker.start()
const chain = await client.startJobChain({ typeName: 'greet', input: 'Ada' })
await client.waitForJobChainCompletion(chain, { timeoutMs: 10_000 })
await stop()
await client.close()
