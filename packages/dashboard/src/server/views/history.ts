// What workers did, by minute or by hour: of all types, or of one; and when the workers that are alive began.

import type { NamedType, WorkerInfo } from 'holdfast'
import type { Answer, HistoryMark, HistoryPage, HistoryRange } from '../../shared/api.ts'
import { answerOf, type Call, type Context } from '../route.ts'
import { readWorkers } from './counts.ts'

/** Workers write it every 10 s. */
const historyMs = 10_000

export async function history(context: Context, { query }: Call): Promise<Answer<HistoryPage>> {
  const { reads, handles } = context
  // The handle refuses a range that does not exist.
  const range = (query.get('range') ?? '1h') as HistoryRange
  const [face, name] = [query.get('face'), query.get('name')]
  const type: NamedType | undefined = face === null || name === null ? undefined : { face, name }
  const key = JSON.stringify(['history', range, type?.face, type?.name])
  const read = await reads.read(key, historyMs, () => handles.reader.history(range, type))
  const { value: workers } = await readWorkers(context)
  return answerOf(read, (found) => ({ ...found, marks: marksOf(workers, found) }))
}

/** Workers that began in one step are one mark: a deployment starts many. Those that have ended since are not known. */
export function marksOf(
  workers: readonly WorkerInfo[],
  { points, stepMs }: Pick<HistoryPage, 'points' | 'stepMs'>,
): HistoryMark[] {
  const from = points[0]?.at ?? Infinity
  const began = workers.filter(({ startedAt }) => startedAt >= from)
  const bySteps = Map.groupBy(began, ({ startedAt }) => Math.floor((startedAt - from) / stepMs))
  return [...bySteps]
    .toSorted(([a], [b]) => a - b)
    .map(([step, group]) => {
      const versions = [...new Set(group.map(({ version }) => version))].toSorted().join(', ')
      const who = group.length === 1 ? '1 worker' : `${group.length} workers`
      return { at: from + step * stepMs, text: `${who} began, version ${versions}` }
    })
}
