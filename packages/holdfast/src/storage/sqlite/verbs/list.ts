// list: pages by key, along the index over createdAt. What no index serves is filtered from what it yields.

import type { JobState, ListQuery, Page } from '../../storage.ts'
import { decodeCursor, matches, pageOf } from '../../rules/list.ts'
import type { SqliteJob } from '../rules/job.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import type { SqliteMove } from '../rules/move.ts'

export function list(move: SqliteMove, query: ListQuery): Page {
  const ascending = query.order === 'asc'
  const [at, type, id] = query.cursor === undefined ? [null, null, null] : decodeCursor(query.cursor)
  const from = query.createdFrom ?? 0
  const to = query.createdTo ?? Number.MAX_SAFE_INTEGER
  const { listUp, listDown } = move.session.statements
  const rows = (ascending ? listUp : listDown).iterate({
    low: ascending ? Math.max(at ?? from, from) : from,
    high: ascending ? to : Math.min(at ?? to, to),
    types: query.types ? JSON.stringify(query.types) : null,
    states: query.states && query.of === 'jobs' ? JSON.stringify(query.states.flatMap(codesOf)) : null,
    chains: query.of === 'chains' ? 1 : 0,
    at,
    type,
    id,
  }) as Iterable<unknown> as Iterable<[seq: number]>
  const found: SqliteJob[] = []
  for (const [seq] of rows) {
    const job = move.session.jobOf(seq)!
    if (matches(move, job, query) && found.push(job) > query.limit) break
  }
  return pageOf(move, query, found)
}

/** One that is scheduled in its row may be queued by now. */
const codesOf = (state: JobState): number[] =>
  state === 'queued' ? [stateCodes.queued, stateCodes.scheduled] : [stateCodes[state]]
