// The workers that are alive, and what each of them runs.

import type { AdminJobQuery, JobItem, NamedType } from 'holdfast'
import { type Answer, largestPage, type WorkersPage } from '../../shared/api.ts'
import { answerOf, type Context } from '../route.ts'
import { type Counts, mostListMs, readCounts } from './counts.ts'
import { fewNames, fewTypes } from './job-filter.ts'

const runningMs = 2_000

export async function workers(context: Context): Promise<Answer<WorkersPage>> {
  const { value: counts, at } = await readCounts(context)
  const running = await context.reads.read('running', runningMs, () =>
    context.handles.reader.jobs.list(runningQuery(counts)),
  )
  return answerOf({ value: running.value, at, costMs: running.costMs }, ({ items, nextCursor }) => {
    const byLabel = Map.groupBy(items, ({ workerId = '' }: JobItem) => workerId)
    const shown = counts.workers.slice(0, largestPage)
    const labels = Map.groupBy(counts.workers, ({ label }) => label)
    return {
      workers: shown.map((worker) => ({
        ...worker,
        running: byLabel.get(worker.label) ?? [],
        isAlone: labels.get(worker.label)!.length === 1,
      })),
      cut: counts.workers.length - shown.length,
      moreRunning: nextCursor !== undefined,
    }
  })
}

/** Of many types only those are looked at where something ran when they were counted. */
function runningQuery({ types }: Counts): AdminJobQuery {
  const query = { states: ['processing'], limit: largestPage, maxMs: mostListMs } as const
  const named = types.filter(({ states }) => states.processing > 0).map(({ face, name }): NamedType => ({ face, name }))
  return types.length > fewTypes && named.length <= fewNames ? { ...query, types: named } : query
}
