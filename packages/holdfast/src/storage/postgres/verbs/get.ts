// get: jobs by reference, in one statement without locks; by deduplication key, or with `lock` in a transaction, by the rules.

import { get as getByRules } from '../../rules/get.ts'
import type { GetOptions, JobRecord, JobRef, KeyRef } from '../../storage.ts'
import { wantAlone, wantJobs } from '../rules/load-request.ts'
import type { JoinedTransaction } from '../rules/rule-runner.ts'
import type { OpenStorage } from './open-storage.ts'
import { findTypes } from './register-types.ts'
import { snapshot } from './snapshot.ts'

export async function get(
  open: OpenStorage,
  jobs: readonly (JobRef | KeyRef)[],
  { parts = [], lock = false }: Pick<GetOptions, 'parts' | 'lock'>,
  joined: JoinedTransaction | undefined,
): Promise<(JobRecord | undefined)[]> {
  const { types, database, runner } = open
  const refs = jobs.filter((job) => 'id' in job)
  // Rare: the rules find the jobs that hold the keys.
  if (refs.length < jobs.length) {
    await findTypes(open, jobs, joined)
    return runner.run(
      {
        want: (loaded) => wantJobs(loaded, types, refs),
        rules: (move) => getByRules(move, jobs, parts),
        locksOnWrite: !lock,
      },
      joined,
    )
  }
  if (!lock || !joined) {
    return getByRules(await snapshot(open, joined?.connection ?? database, refs, parts), refs, parts)
  }
  await findTypes(open, refs, joined)
  // Locks the jobs until the transaction ends, but not their dependents.
  return runner.run(
    {
      want: (loaded) => wantAlone(loaded, types, refs),
      rules: (move) => getByRules(move, refs, parts),
      insertsOneAtMost: true,
      keepsLocked: true,
    },
    joined,
  )
}
