// One claimed job, from the claim to its outcome: decode → span → middlewares → attempt (run-attempt.ts).

import type { Attempt } from '../../engine/work/attempt.ts'
import type { AttemptEnd } from '../../engine/work/outcomes.ts'
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
  const { workerId, middlewares, dependencies, slots } = processing
  let job: PlainRunningJob
  try {
    job = runningJobOf(attempt.job, workerId)
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

/** What the span shows: an attempt that was released has not failed. */
const spanError = ({ ending, error }: AttemptEnd): Error | undefined => (ending.kind === 'released' ? undefined : error)
