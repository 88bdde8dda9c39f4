// What the examples of logging run: one job, which fails once and then greets.

import {
  createClient,
  createInProcessWorker,
  defineJobTypes,
  type JobAttemptMiddleware,
  type Log,
} from 'holdfast/chains'
import { SqliteStorage } from 'holdfast/sqlite'

interface Logging {
  readonly log: Log
  readonly inContext: JobAttemptMiddleware
  /** That of the attempt, if it is asked for in one. */
  logger(): { info(message: string): unknown }
}

export async function greet({ log, inContext, logger }: Logging): Promise<void> {
  // Knows nothing of jobs.
  const greetingFor = async (name: string): Promise<string> => {
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
}
