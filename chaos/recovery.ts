// How long the jobs of a dead or stopped process waited for their next run: from the kill, or the stop, to the next `started`.

import { type History, type JobHistory, wasCalled } from './history.ts'

export interface Durations {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** In ms. */
export interface Recovery {
  readonly afterKill: readonly number[]
  readonly afterStop: readonly number[]
}

export function recoveryOf({ entries, jobs }: History): Recovery {
  const killedAt = new Map<string, number>()
  const stoppedAt = new Map<string, number[]>()
  for (const entry of entries) {
    if (entry.what === 'killed') killedAt.set(entry.process, entry.at)
    if (entry.what === 'crashing') killedAt.set(entry.by, entry.at)
    if (entry.what === 'stopped') stoppedAt.set(entry.process, [...(stoppedAt.get(entry.process) ?? []), entry.at])
  }
  // What was paused or ended in between began again for other reasons.
  const measured = jobs.filter((job) => job.type !== 'passing' && !wasCalled(job, 'revive'))
  const afterKill: number[] = []
  const afterStop: number[] = []
  for (const job of measured) {
    for (const { run, next } of interrupted(job)) {
      const kill = killedAt.get(run.by)
      if (kill !== undefined && kill < next.at) {
        afterKill.push(next.at - kill)
        continue
      }
      const stop = stoppedAt.get(run.by)?.findLast((at) => at > run.at && at < next.at)
      if (stop !== undefined && next.by !== run.by) afterStop.push(next.at - stop)
    }
  }
  return { afterKill, afterStop }
}

/** The runs of which nothing was recorded, as far as they know, each with the run that followed it. */
function interrupted({ entries }: JobHistory) {
  const settled = entries.filter((entry) => entry.what === 'settled' && entry.verdict === 'settled')
  const recorded = new Set(settled.flatMap((entry) => ('fence' in entry ? [entry.fence] : [])))
  const runs = entries.filter((entry) => entry.what === 'started')
  return runs.slice(1).flatMap((next, index) => {
    const run = runs[index]!
    return recorded.has(run.fence) ? [] : [{ run, next }]
  })
}

export function durationsOf(samples: readonly number[]): Durations {
  const sorted = samples.toSorted((one, other) => one - other)
  /** The smallest that so large a share does not exceed. */
  const at = (share: number): number => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0)
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) }
}
