// list: pages by cursor, so that jobs that come and go neither repeat nor hide others. It scans all jobs: it is for people.

import type { ListQuery, Page } from '../storage.ts'
import { decodeCursor, type ListKey, listKeyOf, matches, pageOf } from '../rules/list.ts'
import type { MemoryJob } from './data.ts'
import type { MemoryMove } from './move.ts'

export function list(move: MemoryMove, query: ListQuery): Page {
  const sign = query.order === 'asc' ? 1 : -1
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor)
  const found: MemoryJob[] = []
  for (const name of query.types ? new Set(query.types) : move.data.types.keys()) {
    for (const job of move.data.types.get(name)?.jobs.values() ?? []) {
      if (matches(move, job, query) && (!after || sign * compare(listKeyOf(job), after) > 0)) found.push(job)
    }
  }
  found.sort((a, b) => sign * compare(listKeyOf(a), listKeyOf(b)))
  return pageOf(move, query, found)
}

function compare(a: ListKey, b: ListKey): number {
  if (a[0] !== b[0]) return a[0] - b[0]
  if (a[1] !== b[1]) return a[1] < b[1] ? -1 : 1
  return a[2] === b[2] ? 0 : a[2] < b[2] ? -1 : 1
}
