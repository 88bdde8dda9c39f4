// revive: makes failed and cancelled jobs live again, by the rules.

import { revive as reviveByRules } from '../../rules/revive.ts'
import type { Revival, ReviveOptions, ReviveVerdict } from '../../storage.ts'
import type { JoinedTransaction } from '../rules/rule-runner.ts'
import { changeJobs } from './change-jobs.ts'
import type { OpenStorage } from './open-storage.ts'

export function revive(
  open: OpenStorage,
  jobs: readonly Revival[],
  options: ReviveOptions,
  joined: JoinedTransaction | undefined,
): Promise<ReviveVerdict[]> {
  return changeJobs(open, jobs, (move) => reviveByRules(move, jobs, options), joined)
}
