// One claimed job, from the claim to its outcome: decode → span → middlewares → attempt (run-attempt.ts).

import type { Attempt } from '../../engine/work/attempt.ts'
import type { AttemptEnd } from '../../engine/work/outcomes.ts'
import type { ClaimedJob } from '../../storage/storage.ts'
import type { Dependencies } from '../dependencies.ts'
import { inAttemptSpan } from '../events/tracing.ts'
import { type PlainRunningJob, runningJobOf } from '../job/records.ts'
import type { TransactionSlots } from '../transactions/transaction-slots.ts'
import { ChainAttempt, type Processor } from './chain-attempt.ts'
import { failureOf } from './failure.ts'
import type { PlainMiddleware } from './middlewares.ts'
import { runAttempt } from './run-attempt.ts'
import { runInMiddlewares } from './run-in-middlewares.ts'

export interface Processing {
  readonly workerId: string
  readonly middlewares: readonly PlainMiddleware[]
  readonly dependencies: Dependencies
  readonly slots: TransactionSlots
}

/** Never rejects. */
export function processJob(attempt: Attempt, processor: Processor, processing: Processing): Promise<AttemptEnd> {
  const { job } = attempt
  // Not async: a first attempt needs no promise for it.
  if (job.attempt === 1) return processAfter(null, attempt, processor, processing)
  const read = readLastAttempt(job, processing.dependencies)
  return read.then((lastAttemptAt) => {
    // It may have been stopped, cancelled or lost while the storage was asked: then no handler begins.
    const { aborted, reason } = attempt.signal
    return aborted
      ? failureOf(attempt, reason, processor, processing.dependencies)
      : processAfter(lastAttemptAt, attempt, processor, processing)
  })
}

function processAfter(
  lastAttemptAt: number | null,
  attempt: Attempt,
  processor: Processor,
  { workerId, middlewares, dependencies, slots }: Processing,
): Promise<AttemptEnd> {
  let job: PlainRunningJob
  try {
    job = runningJobOf(attempt.job, workerId, lastAttemptAt)
  } catch (error) {
    return Promise.resolve(failureOf(attempt, error, processor, dependencies))
  }
  const run = new ChainAttempt(attempt, job, processor, dependencies, slots)
  const runAll = (): Promise<AttemptEnd> =>
    middlewares.length === 0
      ? runAttempt(run)
      : runInMiddlewares(run, middlewares, { job, workerId, signal: attempt.signal })
  return inAttemptSpan(dependencies.storage, attempt.job, runAll, spanError)
}

/** When the attempt before this one began. A claim does not tell, so a job that runs again costs a read. */
async function readLastAttempt(job: ClaimedJob, { storage, publishEvent }: Dependencies): Promise<number | null> {
  try {
    const [record] = await storage.get([{ type: job.type, id: job.id }], { parts: ['attempts'] })
    return record?.attempts?.findLast(({ attempt }) => attempt < job.attempt)?.startedAt ?? null
  } catch (error) {
    publishEvent({ name: 'error', error: error as Error })
    return null
  }
}

/** What the span shows: an attempt that was released has not failed. */
const spanError = ({ ending, error }: AttemptEnd): Error | undefined => (ending.kind === 'released' ? undefined : error)
