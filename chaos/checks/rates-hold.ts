// In no interval of a rate do jobs start that weigh more than its limit, by the storage's clock. A start that a failover forgot does not
// count: the storage cannot know of it. (S16)

import { type History, type JobHistory, knownRuns, type Violation, violation } from '../history.ts'
import type { Entry } from '../entries.ts'
import { limitsOf } from '../limits.ts'

const { limit, perMs } = limitsOf.rated.rate

interface Start {
  readonly at: number
  readonly weight: number
  readonly entry: Entry
}

export function ratesHold(history: History): Violation[] {
  const heaviest = windowsOf(history).find(({ weight }) => weight > limit)
  if (!heaviest) return []
  const { from, weight, starts } = heaviest
  const sentence = `rated: starts of weight ${weight} within ${perMs} ms from ${from}, limit ${limit}`
  return [
    violation(
      'rate',
      sentence,
      undefined,
      starts.map(({ entry }) => entry),
    ),
  ]
}

/** The interval that begins with each start. */
export function windowsOf({ jobs }: History): { from: number; weight: number; starts: readonly Start[] }[] {
  const starts = jobs
    .filter(({ type }) => type === 'rated')
    .flatMap(startsOf)
    .toSorted((one, other) => one.at - other.at)
  return starts.map(({ at: from }, index) => {
    const end = starts.findIndex(({ at }) => at >= from + perMs)
    const within = starts.slice(index, end === -1 ? undefined : end)
    return { from, weight: within.reduce((sum, { weight }) => sum + weight, 0), starts: within }
  })
}

function startsOf(job: JobHistory): Start[] {
  const known = new Set(knownRuns(job))
  return job.entries.flatMap((entry) =>
    entry.what === 'started' && known.has(entry.fence) ? [{ at: entry.claimedAt, weight: job.weight, entry }] : [],
  )
}
