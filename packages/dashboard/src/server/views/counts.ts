// Counts of all types and the workers: one read in 5 s for all viewers and all views.

import type { TypeSummary, WorkerInfo } from 'holdfast'
import type { Totals } from '../../shared/api.ts'
import { jobStates, type JobState } from '../../shared/states.ts'
import type { Context } from '../route.ts'
import type { TimedRead } from '../shared-reads.ts'

export interface Counts {
  readonly types: readonly TypeSummary[]
  readonly workers: readonly WorkerInfo[]
}

const countsMs = 5_000

/** A list stops to look for more after so many ms, and the next page goes on from there. */
export const mostListMs = 20

export const readCounts = ({ reads, handles }: Context): Promise<TimedRead<Counts>> =>
  reads.read('counts', countsMs, async () => {
    const [types, workers] = await Promise.all([handles.reader.types(), handles.reader.workers()])
    return { types, workers }
  })

export function totalsOf({ types, workers }: Counts): Totals {
  const states = Object.fromEntries(
    jobStates.map((state) => [state, sum(types, (type) => type.states[state])]),
  ) as Record<JobState, number>
  const waits = types.flatMap(({ oldestDueMs, paused }) => (oldestDueMs === undefined || paused ? [] : [oldestDueMs]))
  return {
    states,
    due: sum(types, ({ due }) => due),
    ...(waits.length > 0 && { oldestDueMs: waits.reduce((a, b) => Math.max(a, b)) }),
    types: types.length,
    paused: types.filter(({ paused }) => paused).length,
    workers: workers.length,
    slots: sum(workers, ({ concurrency }) => concurrency),
  }
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  let total = 0
  for (const item of items) total += of(item)
  return total
}
