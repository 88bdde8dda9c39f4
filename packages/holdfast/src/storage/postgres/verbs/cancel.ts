// cancel: the fast path for one job without a reason; otherwise the rules.

import { cancel as cancelByRules } from '../../rules/cancel.ts'
import type { CancelOptions, CancelVerdict, JobRef } from '../../storage.ts'
import { fastCancel } from '../fast/cancel.ts'
import { changeJobs } from './change-jobs.ts'
import { type OpenStorage, runFast } from './open-storage.ts'
import { findTypes } from './register-types.ts'

export async function cancel(
  open: OpenStorage,
  jobs: readonly JobRef[],
  options: CancelOptions = {},
): Promise<CancelVerdict[]> {
  const [job] = jobs
  if (jobs.length === 1 && options.reason === undefined) {
    await findTypes(open, [job!])
    const isCancelled = await runFast(open, (afterCommit) => fastCancel(open, job!, afterCommit))
    if (isCancelled) return [{ verdict: 'cancelled' }]
  }
  return changeJobs(open, jobs, (move) => cancelByRules(move, jobs, options))
}
