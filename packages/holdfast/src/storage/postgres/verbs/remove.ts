// remove: deletes jobs or chain trees, by the rules.

import { remove as removeByRules } from '../../rules/remove.ts'
import type { JobRef, RemoveOptions, RemoveVerdict } from '../../storage.ts'
import type { JoinedTransaction } from '../rules/rule-runner.ts'
import { changeJobs } from './change-jobs.ts'
import type { OpenStorage } from './open-storage.ts'

export function remove(
  open: OpenStorage,
  jobs: readonly JobRef[],
  options: RemoveOptions,
  joined: JoinedTransaction | undefined,
): Promise<RemoveVerdict[]> {
  return changeJobs(open, jobs, (move) => removeByRules(move, jobs, options), joined)
}
