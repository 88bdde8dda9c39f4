// The spans of time in which handlers ran with a live lease, from what the workers logged. Each span is at most as long as the storage's:
// it starts with the handler, after the claim, and ends with it, before its outcome. The lease of a dead worker counts until its end.

import type { Entry } from './entries.ts'
import type { History, JobHistory } from './history.ts'

export interface Held {
  readonly job: JobHistory
  readonly from: number
  readonly to: number
}

/** The storage has its own clock in whole milliseconds; the logs use another. */
const toleranceMs = 5

/** What ends the span of a run: the storage may have its outcome from then on. */
const ends: readonly Entry['what'][] = ['ended', 'aborted', 'settled']

export function heldRuns({ entries, jobs }: History): Held[] {
  const leases = leasesOf(entries)
  return jobs.flatMap((job) => {
    const started = job.entries.filter((entry) => entry.what === 'started')
    return started.flatMap(({ fence, at }) => {
      const isEnd = (entry: Entry): boolean => ends.includes(entry.what) && 'fence' in entry && entry.fence === fence
      const endedAt = job.entries.find(isEnd)?.at ?? Infinity
      return (leases.get(nameOf(job.id, fence)) ?? []).flatMap((lease): Held[] => {
        const [from, to] = [Math.max(at, lease.from), Math.min(endedAt, lease.to)]
        return from < to ? [{ job, from, to }] : []
      })
    })
  })
}

interface Span {
  readonly from: number
  readonly to: number
}

const nameOf = (id: string, fence: string): string => `${id} ${fence}`

/** The leases of each run: from each answer to the earliest end. A later one takes the place of the rest of the one before. */
function leasesOf(entries: readonly Entry[]): ReadonlyMap<string, readonly Span[]> {
  const leases = new Map<string, Span[]>()
  const add = (id: string, fence: string, { at, leaseUntil }: { at: number; leaseUntil?: number }): void => {
    if (leaseUntil === undefined) return
    const name = nameOf(id, fence)
    const spans = leases.get(name) ?? []
    const last = spans.at(-1)
    if (last && last.to > at) spans[spans.length - 1] = { from: last.from, to: at }
    spans.push({ from: at, to: leaseUntil - toleranceMs })
    leases.set(name, spans)
  }
  for (const entry of entries) {
    if (entry.what === 'claimed') for (const { id, fence } of entry.runs) add(id, fence, entry)
    if (entry.what === 'extended') add(entry.id, entry.fence, entry)
  }
  return leases
}

/** The first instant at which more than so many were held: all of them. */
export function overLimit<T extends Span>(spans: readonly T[], limit: number): readonly T[] | undefined {
  let held: T[] = []
  for (const span of spans.toSorted((one, other) => one.from - other.from)) {
    held = held.filter(({ to }) => to > span.from)
    held.push(span)
    if (held.length > limit) return held
  }
  return undefined
}

/** How often so many were held at once. */
export function timesFull(spans: readonly Span[], limit: number): number {
  let [held, times]: [Span[], number] = [[], 0]
  for (const span of spans.toSorted((one, other) => one.from - other.from)) {
    held = held.filter(({ to }) => to > span.from)
    held.push(span)
    if (held.length === limit) times++
  }
  return times
}
