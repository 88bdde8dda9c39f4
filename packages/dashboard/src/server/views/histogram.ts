// When the jobs of a list were added. Storages count no jobs by time, so the first jobs of the list are read, within a bound.

import type { Answer, JobsHistogram } from '../../shared/api.ts'
import type { JobState } from '../../shared/states.ts'
import { answerOf, type Call, type Context } from '../route.ts'
import { mostListMs, readCounts } from './counts.ts'
import { adminFilter, filterOf, listedTypes } from './job-filter.ts'
import { orderOf, sortOf } from './jobs.ts'

const [histogramMs, mostJobs, mostPoints] = [10_000, 300, 48]
const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]
/** Steps that people read easily. */
const steps = [second, 5 * second, 15 * second, minute, 5 * minute, 15 * minute, hour, 3 * hour, 6 * hour, day, 7 * day]

const nothing: JobsHistogram = { stepMs: minute, points: [], counted: 0, hasMore: false }

export async function histogram(context: Context, { query }: Call): Promise<Answer<JobsHistogram>> {
  const text = query.get('q') ?? ''
  const filter = filterOf(text)
  const { reads, handles, clock } = context
  const counts = await readCounts(context)
  // What is looked up, or read job by job, is a short list.
  if (filter.ids.length > 0 || filter.error !== undefined) return answerOf(counts, () => nothing)
  const sort = sortOf(query.get('sort'), filter, counts.value, handles.reader)
  const read = await reads.read(JSON.stringify(['histogram', text, sort]), histogramMs, () => {
    const types = listedTypes(filter, counts.value)
    const conditions = { ...adminFilter(filter, counts.value, clock), ...(types && { types }) }
    return handles.reader.jobs.list({ ...conditions, order: orderOf(sort), limit: mostJobs, maxMs: mostListMs })
  })
  return answerOf(read, ({ items, nextCursor, truncated }) => ({
    ...pointsOf(items),
    counted: items.length,
    hasMore: nextCursor !== undefined || truncated === true,
  }))
}

interface Added {
  readonly createdAt: number
  readonly state: JobState
}

/** In steps of a round length, so many at most. */
export function pointsOf(jobs: readonly Added[]): Pick<JobsHistogram, 'stepMs' | 'points'> {
  if (jobs.length === 0) return nothing
  let [first, last] = [Infinity, -Infinity]
  for (const { createdAt } of jobs) [first, last] = [Math.min(first, createdAt), Math.max(last, createdAt)]
  const fits = (step: number): boolean => Math.floor(last / step) - Math.floor(first / step) < mostPoints
  const stepMs = steps.find(fits) ?? Math.ceil((last - first + 1) / (mostPoints - 1) / day) * day
  const from = Math.floor(first / stepMs)
  const points = Array.from({ length: Math.floor(last / stepMs) - from + 1 }, (_, index) => ({
    at: (from + index) * stepMs,
    states: {} as Partial<Record<JobState, number>>,
  }))
  for (const { createdAt, state } of jobs) {
    const { states } = points[Math.floor(createdAt / stepMs) - from]!
    states[state] = (states[state] ?? 0) + 1
  }
  return { stepMs, points }
}
