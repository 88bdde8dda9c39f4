// sweep: one call of lua/sweep.ts.

import { checkSweepRequest } from '../../check.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import type { SweepRequest, Swept } from '../../storage.ts'
import type { List } from '../codec/fields.ts'
import { packed } from '../codec/requests.ts'
import { endedOf } from '../codec/verdicts.ts'
import type { ScriptRunner } from './script-runner.ts'

/** Records that one call removes, at most. */
const mostRecords = 100_000

export async function sweep(scripts: ScriptRunner, request: SweepRequest): Promise<Swept> {
  checkSweepRequest(request)
  const { limit, keep = [] } = request
  const counts = keep.map(({ type, state, count }) => [type, stateCodes[state], count])
  const [, jobs, ended, entries, more] = await scripts.ask('sweep', [packed([Math.min(limit, mostRecords), counts])])
  return {
    jobs: jobs as number,
    ended: (ended as List).map(endedOf),
    // The server expires marks by itself.
    marks: 0,
    entries: entries as number,
    more: more as boolean,
  }
}
