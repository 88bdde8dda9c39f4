// settle: the fast path if no outcome needs a rule; otherwise, and in a user's transaction, the rules.

import { outcomeJobs } from '../../check.ts'
import { settle as settleByRules } from '../../rules/settle.ts'
import type { NewJob, Outcome, SettleVerdict } from '../../storage.ts'
import { fastClaim } from '../fast/claim.ts'
import { plainOutcomes } from '../fast/outcomes.ts'
import { wantOutcomes } from '../rules/load-request.ts'
import type { JoinedTransaction } from '../rules/rule-runner.ts'
import { type OpenStorage, runFast } from './open-storage.ts'
import { registerOutcomes } from './register-types.ts'

export async function settle(
  open: OpenStorage,
  outcomes: readonly Outcome[],
  joined: JoinedTransaction | undefined,
): Promise<SettleVerdict[]> {
  await registerOutcomes(open, outcomes, joined)
  if (!joined) {
    const settled = await settleFast(open, outcomes)
    if (settled) return [...settled]
  }
  return open.runner.run(
    {
      want: (loaded) => wantOutcomes(loaded, open.types, outcomes),
      rules: (move) => settleByRules(move, outcomes),
      insertsOneAtMost: isOneRow(outcomes.flatMap(outcomeJobs)),
    },
    joined,
  )
}

/** Whether the jobs are at most one row, without one of a key or a group. */
const isOneRow = (jobs: readonly NewJob[]): boolean =>
  jobs.length === 0 || (jobs.length === 1 && !jobs[0]!.group && !jobs[0]!.deduplication)

/** A claim of nothing that carries the outcomes. */
function settleFast(open: OpenStorage, outcomes: readonly Outcome[]): Promise<readonly SettleVerdict[] | undefined> {
  return runFast(open, async (afterCommit) => {
    const plain = plainOutcomes(outcomes, afterCommit, open.leases, false)
    if (!plain) return undefined
    const request = { worker: '', slots: 0, types: [], outcomes: plain }
    return (await fastClaim(open, request, afterCommit))?.settled
  })
}
