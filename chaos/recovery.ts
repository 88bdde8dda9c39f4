// Recovery times of the jobs of a dead or stopped process: from the kill or the stop to the next `started`.

import { attemptOf, type Entry } from './entries.ts'
import { type History, type JobHistory, wasCalled } from './history.ts'
import { serverAway } from './reconnect.ts'

export interface Durations {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Durations in ms. */
export interface Recovery {
  readonly afterKill: readonly number[]
  readonly afterStop: readonly number[]
  /** Of both: while a stopped process blocked the storage, so that no recovery was possible. */
  readonly whileBlocked: readonly number[]
  /** Of both: while the server was away or the processes reconnected. */
  readonly whileAway: readonly number[]
  /** Of both: with a claim in between that was lost too, which costs one more lease each time. */
  readonly claimLost: readonly number[]
  /** Duration of each block. */
  readonly blocked: readonly number[]
}

interface Span {
  readonly from: number
  readonly to: number
}

/** The storage answered a call of this process. */
interface Answer {
  readonly at: number
  readonly by: string
}

/** @param canBlock whether a stopped process may block the storage: not with a server */
export function recoveryOf({ entries, jobs }: History, leaseMs: number, canBlock = true): Recovery {
  const killedAt = new Map<string, number>()
  const stoppedAt = new Map<string, number[]>()
  for (const entry of entries) {
    if (entry.what === 'killed') killedAt.set(entry.process, entry.at)
    if (entry.what === 'crashing') killedAt.set(entry.by, entry.at)
    if (entry.what === 'stopped') stoppedAt.set(entry.process, [...(stoppedAt.get(entry.process) ?? []), entry.at])
  }
  // A job that was paused, limited or ended in between started again for another reason.
  const measured = jobs.filter((job) => {
    return job.type === 'kept' && job.group === undefined && !wasCalled(job, 'revive')
  })
  const spans = canBlock ? blockedSpans(entries, leaseMs / 2) : []
  const away = awaySpans(entries)
  const afterKill: number[] = []
  const afterStop: number[] = []
  const whileBlocked: number[] = []
  const whileAway: number[] = []
  const claimLost: number[] = []
  for (const job of measured) {
    for (const { run, next } of interrupted(job)) {
      const kill = killedAt.get(run.by)
      const wasKilled = kill !== undefined && kill < next.at
      const stop = stoppedAt.get(run.by)?.findLast((at) => at > run.at && at < next.at)
      const from = wasKilled ? kill : next.by === run.by ? undefined : stop
      if (from === undefined) continue
      const isDuring = (span: Span): boolean => span.from < next.at && from < span.to
      const samples = away.some(isDuring)
        ? whileAway
        : spans.some(isDuring)
          ? whileBlocked
          : attemptOf(next.fence) > attemptOf(run.fence) + 1
            ? claimLost
            : wasKilled
              ? afterKill
              : afterStop
      samples.push(next.at - from)
    }
  }
  return { afterKill, afterStop, whileBlocked, whileAway, claimLost, blocked: spans.map(({ from, to }) => to - from) }
}

/** The target for a reconnect, ms. */
export const returnMs = 2_000

/** From a kill of the server until the last process reconnected. */
export function awaySpans(entries: readonly Entry[]): Span[] {
  const marks = new Set(
    entries.flatMap((entry) => (entry.what === 'marked' && entry.after === 'server' ? entry.mark : [])),
  )
  const reached = entries.filter((entry) => entry.what === 'reached' && marks.has(entry.mark))
  return serverAway(entries).map(({ from, to }) => {
    return { from, to: Math.max(to, ...reached.filter(({ at }) => at > to && at <= to + returnMs).map(({ at }) => at)) }
  })
}

/**
 * One process is stopped and the storage answers no other: it was stopped in the middle of a write and holds the
 * write lock.
 */
export function blockedSpans(
  entries: readonly Entry[],
  leastMs: number,
  answers: readonly Answer[] = entries.filter(({ what }) => what === 'acked' || what === 'settled'),
): Span[] {
  return entries.flatMap((stop, index): Span[] => {
    if (stop.what !== 'stopped') return []
    const end = entries.slice(index).find((entry) => entry.what === 'continued' && entry.process === stop.process)
    if (!end) return []
    const within = answers.filter(({ at, by }) => at > stop.at && at < end.at && by !== stop.process)
    const times = [stop.at, ...within.map(({ at }) => at), end.at]
    const gaps = times.slice(1).map((to, number) => ({ from: times[number]!, to }))
    return gaps.filter(({ from, to }) => to - from >= leastMs)
  })
}

/** The runs without a recorded outcome, each with the next run. */
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
  /** The smallest sample that this share of all samples does not exceed. */
  const at = (share: number): number => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0)
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) }
}
