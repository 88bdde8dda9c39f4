// limits: whether a limit holds over four worker processes, by the records of their handlers, and how much can run under it.

import type { Case, Measure, Variant } from '../case.ts'
import type { Entrant } from '../contender.ts'
import { type Limit, limitedOf, type LimitedJob } from '../limits/limited.ts'
import {
  checkOnce,
  mostAtOnce,
  mostAtOncePerGroup,
  mostInWindow,
  paceOf,
  type Run,
  shareUsed,
} from '../limits/records.ts'
import { Workers } from '../limits/workers.ts'
import type { Limits } from '../load.ts'
import { newPlace } from '../place.ts'

const processes = 4
const groups = 50
const handlerMs = 5
/** More than any contender runs, so that the time ends a run before its jobs do. */
const mostJobsPerSecond = 2_000
const rate = { limit: 100, perMs: 1_000 }

export const limits: Case = {
  name: 'limits',
  isOptIn: true,
  about:
    `Limits over ${processes} worker processes with 10 slots each, for contenders that have them. A handler takes ${handlerMs} ms and records its start and end: ` +
    `the greatest number at once, or of starts in any second, and the starts that were over the limit. The rate is measured after its first second.`,
  variants: [
    variant('concurrency 3', { kind: 'concurrency', limit: 3 }, (runs) => [
      ...findings('most at once', mostAtOnce(runs, 3)),
      { name: 'throughput', unit: 'jobs/s', value: paceOf(runs) },
    ]),
    variant('1 per group', { kind: 'groups' }, (runs) => [
      ...findings('most at once', mostAtOncePerGroup(runs, 1)),
      { name: 'throughput', unit: 'jobs/s', value: paceOf(runs) },
    ]),
    variant('rate 100 per s', { kind: 'rate', ...rate }, (runs) => [
      ...findings('most starts in 1 s', mostInWindow(runs, rate.limit, rate.perMs)),
      { name: 'share used', unit: '%', value: shareUsed(runs, rate.limit, rate.perMs) },
    ]),
  ],
}

function findings(name: string, { most, over }: { most: number; over: number }): Measure[] {
  return [
    { name, unit: 'jobs', value: most },
    { name: 'over the limit', unit: 'jobs', value: over },
  ]
}

function variant(name: string, limit: Limit, measure: (runs: readonly Run[]) => Measure[]): Variant {
  return {
    name,
    isOf: (contender) => limitedOf(contender)?.kinds[limit.kind] !== undefined,
    run: async (contender, given) => {
      const note = limitedOf(contender)!.kinds[limit.kind]!
      const runs = await runWith(contender, limit, given)
      checkOnce(runs)
      return measure(runs).map((found) => ({ ...found, note }))
    },
  }
}

async function runWith(contender: Entrant, limit: Limit, given: Limits): Promise<readonly Run[]> {
  const place = newPlace()
  const producer = await limitedOf(contender)!.open(limit, place)
  const jobs = Math.min(given.jobs, limit.kind === 'rate' ? rateJobs(given) : mostJobsPerSecond * given.seconds)
  for (let next = 0; next < jobs; next += 500) {
    await producer.add(Array.from({ length: Math.min(500, jobs - next) }, (_, index) => jobOf(next + index)))
  }
  const workers = new Workers(processes)
  await workers.open(contender.file, place, limit)
  await workers.work(handlerMs, jobs, given.seconds)
  const runs = await workers.stop()
  await producer.close()
  return runs
}

/** Three times what the rate allows in the given time. */
const rateJobs = ({ seconds }: Limits): number => (3 * rate.limit * seconds * 1_000) / rate.perMs

const jobOf = (n: number): LimitedJob => ({ n, group: `group-${n % groups}` })
