// How long the jobs of a dead or stopped process waited for their next run: from the kill, or the stop, to the next `started`.

import { attemptOf, type Entry } from './entries.ts'
import { type History, type JobHistory, wasCalled } from './history.ts'
import { serverAway } from './reconnect.ts'

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
  /** Of both: those during which a stopped process held the storage, so that nobody could have been quicker. */
  readonly whileBlocked: readonly number[]
  /** Of both: those during which the server was away, or the processes were on their way back to it. */
  readonly whileAway: readonly number[]
  /** Of both: those that somebody claimed in between who was lost, too, or never had the answer. A lease more, each time. */
  readonly claimLost: readonly number[]
  /** How long it was held, each time. */
  readonly blocked: readonly number[]
}

interface Span {
  readonly from: number
  readonly to: number
}

/** @param canBlock a process that is stopped may hold the storage: not where a server does the work */
export function recoveryOf({ entries, jobs }: History, leaseMs: number, canBlock = true): Recovery {
  const killedAt = new Map<string, number>()
  const stoppedAt = new Map<string, number[]>()
  for (const entry of entries) {
    if (entry.what === 'killed') killedAt.set(entry.process, entry.at)
    if (entry.what === 'crashing') killedAt.set(entry.by, entry.at)
    if (entry.what === 'stopped') stoppedAt.set(entry.process, [...(stoppedAt.get(entry.process) ?? []), entry.at])
  }
  // What was paused or ended in between began again for other reasons.
  const measured = jobs.filter((job) => job.type !== 'passing' && !wasCalled(job, 'revive'))
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

/** To be back takes up to this long, in ms: that is the aim. */
export const returnMs = 2_000

/** From a kill of the server until the last process was back at it. */
function awaySpans(entries: readonly Entry[]): Span[] {
  const marks = new Set(
    entries.flatMap((entry) => (entry.what === 'marked' && entry.after === 'server' ? entry.mark : [])),
  )
  const reached = entries.filter((entry) => entry.what === 'reached' && marks.has(entry.mark))
  return serverAway(entries).map(({ from, to }) => {
    return { from, to: Math.max(to, ...reached.filter(({ at }) => at > to && at <= to + returnMs).map(({ at }) => at)) }
  })
}

/**
 * When one process stands still and the storage answers nobody else: it was stopped in the middle of a write, and has the
 * lock that others need.
 */
function blockedSpans(entries: readonly Entry[], leastMs: number): Span[] {
  const answers = entries.filter(({ what }) => what === 'acked' || what === 'settled')
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
