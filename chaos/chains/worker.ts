// A worker process: runs the jobs of chains until it is killed or asked to finish. Handlers and their callbacks take
// some ms, so that a kill may hit between a user row and its commit.

import { createInProcessWorker, type AnyRunningJob } from 'holdfast/chains'
import { noteError, retryUntilDone, sleep, startChild } from '../child.ts'
import { writeRow } from './rows.ts'
import { isWeighed, types } from './types.ts'

/** Longest duration in ms of a handler, and of a callback in its transaction. */
const [longestWork, longestWrite] = [40, 8]

const child = await startChild()
const { log, random, leaseMs, storage, name } = child

async function work(job: AnyRunningJob): Promise<void> {
  const { id, attempt, runAt, lastAttemptAt } = job
  log.write({ what: 'started', id, fence: `${name}#${attempt}`, runAt, claimedAt: lastAttemptAt! })
  await sleep(random.between(0, longestWork))
}

/** Writes a user row, if the storage has transactions. */
async function note(context: object, id: string): Promise<void> {
  if (!('tx' in context)) return
  await writeRow(context.tx, 'done', id)
  await sleep(random.between(0, longestWrite))
}

const worker = await createInProcessWorker({
  storage,
  jobTypeRegistry: types,
  // The same for all processes, as in a deployment: fences distinguish them.
  workerId: 'worker',
  concurrency: 10,
  stop: { graceMs: 5_000, deadlineMs: 10_000 },
  observer: {
    jobChainCompleted: ({ id }) => log.write({ what: 'chainEnded', chain: String(id) }),
    storageError: ({ error }) => noteError(log)(error as Error),
    workerError: ({ error }) => noteError(log)(error as Error),
  },
  jobTypeProcessing: {
    pollIntervalMs: 1_000,
    defaultLeaseConfig: { leaseMs, renewIntervalMs: Math.floor(leaseMs / 3) },
    defaultRetryConfig: { initialDelayMs: 50, maxDelayMs: 1_000 },
    workerLoopRetryConfig: { initialDelayMs: 50, maxDelayMs: 500 },
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
        await prepare({ mode: 'atomic' }, (context) => note(context, job.id))
        return complete(async ({ continueWith }) =>
          isWeighed(job.input) ? continueWith({ typeName: 'weigh', input: job.input }) : 2 * job.input + 1,
        )
      },
    },
    weigh: {
      process: async ({ job, complete }) => {
        await work(job)
        return complete(async (context) => {
          await note(context, job.id)
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
          await note(context, job.id)
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
        await prepare({ mode: 'atomic' }, (context) => note(context, job.id))
        return complete(job.input + job.blockers[0].output)
      },
    },
  },
})

let stop: (() => Promise<void>) | undefined
await retryUntilDone(log, async () => (stop = await worker.start()))
child.ready()
await child.finish
await stop!()
process.exit(0)
