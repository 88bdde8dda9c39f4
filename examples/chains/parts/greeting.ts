// The program of the logging examples: one job, which fails once and then greets.

import type { Logger } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes, type JobAttemptMiddleware } from 'holdfast/chains'
import { SqliteStorage } from 'holdfast/sqlite'

interface Logging {
  /** For the events of Holdfast. */
  readonly logger: Logger
  readonly inContext: JobAttemptMiddleware
  /** The logger of the running attempt. */
  attemptLogger(): { info(message: string): unknown }
}

export async function greet({ logger, inContext, attemptLogger }: Logging): Promise<void> {
  // A function that knows nothing of jobs.
  const greetingFor = async (name: string): Promise<string> => {
    attemptLogger().info('thinking of something nice')
    return `hello, ${name}`
  }

  const storage = new SqliteStorage({ path: ':memory:' })
  const jobTypeRegistry = defineJobTypes<{ greet: { entry: true; input: string; output: string } }>()
  const client = await createClient({ storage, jobTypeRegistry, logger })
  const worker = await createInProcessWorker({
    storage,
    jobTypeRegistry,
    logger,
    workerId: 'worker-1',
    backoff: { type: 'exponential', delayMs: 20 },
    jobAttemptMiddlewares: [inContext],
    jobTypeProcessors: {
      greet: {
        process: async ({ job, complete }) => {
          if (job.attempt === 1) throw new Error('lost my voice')
          return complete(await greetingFor(job.input))
        },
      },
    },
  })
  await worker.start()
  const chain = await client.startJobChain({ typeName: 'greet', input: 'Ada' })
  await client.waitForJobChainCompletion(chain, { timeoutMs: 10_000 })
  await worker.stop()
  await client.close()
}
