// Short and long handlers mixed, over several workers: with prefetch, no job starts later than without it by more than the time for
// which jobs are held.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { AttemptEnd } from '../../../src/engine/work/outcomes.ts'
import { completed, ids, workBench } from './bench.ts'

const jobs = 400

/** When each job started, in ms since the first worker did; four workers with two slots each. */
async function startsOf(
  t: TestContext,
  prefetchMs: number | false,
  lasts: (id: string) => number,
): Promise<Map<string, number>> {
  const { clock, worker, add, started } = workBench(t)
  const run = ({ job }: { job: { id: string } }): Promise<AttemptEnd> =>
    new Promise((resolve) => clock.after(lasts(job.id), () => resolve(completed)))
  await add(ids(jobs))
  const begin = clock.monotonic()
  for (let number = 0; number < 4; number++) {
    await worker({ label: `w${number}`, concurrency: 2, prefetchMs, run }).start()
  }
  while (started.length < jobs) await clock.advance(1)
  return new Map(started.map(({ job, startedAt }) => [job.id, startedAt - begin]))
}

/** One in `share` takes 2 s, the others 1 ms. */
const mixed =
  (share: number) =>
  (id: string): number =>
    (Number(id.slice(1)) * 7) % share === 3 ? 2_000 : 1

// With more long handlers, they fill all slots at times. Then what a worker gave back waits for a slot, as any job that is due.
for (const share of [50, 150]) {
  test(`[P4] one handler of ${share} takes 2 s, the others 1 ms: no job starts more than prefetchMs later`, async (t) => {
    const [without, ahead] = [await startsOf(t, false, mixed(share)), await startsOf(t, 20, mixed(share))]
    const most = Math.max(...[...ahead].map(([id, at]) => at - without.get(id)!))
    assert.ok(most <= 20, `a job started ${most} ms later`)
  })
}
