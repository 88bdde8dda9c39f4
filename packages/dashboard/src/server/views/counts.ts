// Counts of all types and the workers: one read in 5 s for all viewers and all views. It may take a storage long (some 0.3 s for 1,000,000 jobs
// on Postgres), so what can be shown without it does not wait for it.

import type { TypeSummary, WorkerInfo } from 'holdfast'
import type { Answer, Totals } from '../../shared/api.ts'
import { jobStates, type JobState } from '../../shared/states.ts'
import type { Call, Context } from '../route.ts'
import type { TimedRead } from '../shared-reads.ts'

export interface Counts {
  readonly types: readonly TypeSummary[]
  readonly workers: readonly WorkerInfo[]
}

const countsMs = 5_000

/** A list stops to look for more after so many ms, and the next page goes on from there. */
export const mostListMs = 20

/** A request for counts alone waits so many ms for the first count. Then it is answered without. */
const mostWaitMs = 25

const count = (context: Context) => async (): Promise<Counts> => {
  const [types, { value: workers }] = await Promise.all([context.handles.reader.types(), readWorkers(context)])
  return { types, workers }
}

export const readWorkers = ({ reads, handles }: Context): Promise<TimedRead<readonly WorkerInfo[]>> =>
  reads.read('workers', countsMs, () => handles.reader.workers())

/** Waits for the first count, and for no later one if it was slow. */
export const readCounts = (context: Context): Promise<TimedRead<Counts>> =>
  context.reads.read('counts', countsMs, count(context))

/**
 * The answer of a view of counts alone.
 * @param data of undefined: the first count is under way
 */
export async function answerOfCounts<T>(
  context: Context,
  { isStream }: Call,
  data: (counts: Counts | undefined) => T,
): Promise<Answer<T>> {
  const { reads, clock } = context
  const startedAt = clock.monotonic()
  const read = isStream ? await readCounts(context) : await reads.soon('counts', countsMs, mostWaitMs, count(context))
  const costMs = Math.round((clock.monotonic() - startedAt) * 10) / 10
  if (!read) return { at: clock.now(), costMs, data: data(undefined) }
  return { at: read.at, costMs, countMs: read.costMs, data: data(read.value) }
}

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
