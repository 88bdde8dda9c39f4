// sweep: one call of lua/sweep.ts.

import type { SweepRequest, Swept } from '../../storage.ts'
import type { ScriptRunner } from './script-runner.ts'

/** Records that one call removes, at most. */
const mostRecords = 100_000

export async function sweep(scripts: ScriptRunner, { limit }: SweepRequest): Promise<Swept> {
  const [, jobs, entries, more] = await scripts.ask('sweep', [String(Math.min(limit, mostRecords))])
  // The server expires marks by itself.
  return { jobs: jobs as number, marks: 0, entries: entries as number, more: more as boolean }
}
