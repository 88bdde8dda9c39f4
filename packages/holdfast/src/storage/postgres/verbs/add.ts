// add: the fast path if only ids decide; otherwise, and in a user's transaction, the rules.

import { add as addByRules } from '../../rules/add.ts'
import type { AddVerdict, NewJob } from '../../storage.ts'
import { fastAdd, isFastAdd } from '../fast/add.ts'
import { wantNewJobs } from '../rules/load-request.ts'
import type { JoinedTransaction } from '../rules/rule-runner.ts'
import { type OpenStorage, runFast } from './open-storage.ts'
import { registerJobs } from './register-types.ts'

export async function add(
  open: OpenStorage,
  jobs: readonly NewJob[],
  joined: JoinedTransaction | undefined,
): Promise<AddVerdict[]> {
  await registerJobs(open, jobs, joined)
  if (!joined && isFastAdd(jobs)) {
    const verdicts = await runFast(open, (afterCommit) => fastAdd(open, jobs, afterCommit))
    if (verdicts) return verdicts
  }
  return open.runner.run(
    { want: (loaded) => wantNewJobs(loaded, open.types, jobs), rules: (move) => addByRules(move, jobs) },
    joined,
  )
}
