// list: pages by cursor, so that jobs that come and go neither repeat nor hide others. It scans all jobs of the types: it is for
// people. Only the first ones are kept and sorted. Running jobs alone are read from their leases, whatever the backlog.

import type { ListQuery, Page } from '../storage.ts'
import { decodeCursor, type ListKey, listKeyOf, matches, pageOf } from '../rules/list.ts'
import type { MemoryJob, TypeData } from './data.ts'
import type { MemoryMove } from './move.ts'

/** Jobs that are sorted together, beside those of the page. */
const sortedAtOnce = 4_000

export function list(move: MemoryMove, query: ListQuery): Page {
  const sign = query.order === 'asc' ? 1 : -1
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor)
  const inOrder = (a: MemoryJob, b: MemoryJob): number => sign * compareJobs(a, b)
  const most = query.limit + 1
  let found: MemoryJob[] = []
  for (const name of query.types ? new Set(query.types) : move.data.types.keys()) {
    for (const job of candidatesOf(move.data.types.get(name), query)) {
      if (!matches(move, job, query) || (after && sign * compare(listKeyOf(job), after) <= 0)) continue
      if (found.push(job) >= most + sortedAtOnce) found = found.toSorted(inOrder).slice(0, most)
    }
  }
  return pageOf(move, query, found.toSorted(inOrder))
}

function candidatesOf(type: TypeData | undefined, { of, states }: ListQuery): Iterable<MemoryJob> {
  if (!type) return []
  const isRunning = of === 'jobs' && states?.every((state) => state === 'processing')
  return isRunning ? type.leases : type.jobs.values()
}

/** Most jobs have different instants: the other parts of their keys are rarely needed. */
const compareJobs = (a: MemoryJob, b: MemoryJob): number =>
  a.createdAt - b.createdAt || compare(listKeyOf(a), listKeyOf(b))

function compare(a: ListKey, b: ListKey): number {
  if (a[0] !== b[0]) return a[0] - b[0]
  if (a[1] !== b[1]) return a[1] < b[1] ? -1 : 1
  return a[2] === b[2] ? 0 : a[2] < b[2] ? -1 : 1
}
