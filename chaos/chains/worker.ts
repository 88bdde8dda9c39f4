// A worker process: runs the jobs of chains until it is killed or asked to finish. Handlers and their callbacks take some ms, so that a
// kill may fall between a row of the user's and the commit.

import { createInProcessWorker, type AnyRunningJob } from 'holdfast/chains'
import { noteError, retryUntilDone, sleep, startChild } from '../child.ts'
import { writeRow } from './rows.ts'
import { isWeighed, types } from './types.ts'

/** Longest run in ms of a handler, and of a callback in its transaction. */
const [longestWork, longestWrite] = [40, 8]

const child = await startChild()
const { log, random, leaseMs, storage, name } = child

async function work(job: AnyRunningJob): Promise<void> {
  const { id, attempt, runAt, lastAttemptAt } = job
  log.write({ what: 'started', id, fence: `${name}#${attempt}`, runAt, claimedAt: lastAttemptAt! })
  await sleep(random.between(0, longestWork))
}

/** Writes a row, where the storage has transactions. */
async function writeDone(context: object, id: string): Promise<void> {
  if (!('tx' in context)) return
  await writeRow(context.tx, 'done', id)
  await sleep(random.between(0, longestWrite))
}

const worker = await createInProcessWorker({
  storage,
  jobTypeRegistry: types,
  // The same for all processes, as in many deployments: fences tell them apart.
  workerId: 'worker',
  concurrency: 10,
  graceMs: 5_000,
  deadlineMs: 10_000,
  pollMs: 1_000,
  leaseMs,
  backoff: { type: 'exponential', delayMs: 50, maxDelayMs: 1_000 },
  workerLoopRetryConfig: { initialDelayMs: 50, maxDelayMs: 500 },
  observer: {
    jobChainCompleted: ({ id }) => log.write({ what: 'chainEnded', chain: String(id) }),
    storageError: ({ error }) => noteError(log)(error as Error),
    workerError: ({ error }) => noteError(log)(error as Error),
  },
  jobTypeProcessors: {
    stock: {
      process: async ({ job, complete }) => {
        await work(job)
        return complete(job.input + 1)
      },
    },
    part: {
      process: async ({ job, prepare, complete }) => {
        await work(job)
        await prepare({ mode: 'atomic' }, (context) => writeDone(context, job.id))
        return complete(async ({ continueWith }) =>
          isWeighed(job.input) ? continueWith({ typeName: 'weigh', input: job.input }) : 2 * job.input + 1,
        )
      },
    },
    weigh: {
      process: async ({ job, complete }) => {
        await work(job)
        return complete(async (context) => {
          await writeDone(context, job.id)
          return 2 * job.input + 1
        })
      },
    },
    order: {
      process: async ({ job, prepare, complete }) => {
        await prepare({ mode: 'staged' })
        await work(job)
        const sum = job.blockers.reduce((total, { output }) => total + output, 0)
        return complete(async (context) => {
          await writeDone(context, job.id)
          return context.continueWith({
            typeName: 'ship',
            input: 3 * sum,
            startBlockers: async ({ startJobChain }) => [await startJobChain({ typeName: 'label', input: sum })],
          })
        })
      },
    },
    label: {
      process: async ({ job, complete }) => {
        await work(job)
        return complete(async () => -job.input, { tx: false })
      },
    },
    ship: {
      process: async ({ job, prepare, complete }) => {
        await work(job)
        await prepare({ mode: 'atomic' }, (context) => writeDone(context, job.id))
        return complete(job.input + job.blockers[0].output)
      },
    },
  },
})

await retryUntilDone(log, () => worker.start())
child.ready()
await child.finish
await worker.stop()
process.exit(0)
