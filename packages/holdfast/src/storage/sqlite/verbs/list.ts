// list: pages by cursor, along the index over createdAt. Other conditions filter the rows of that index.

import type { JobState, ListQuery, Page } from '../../storage.ts'
import { decodeCursor, matches, pageOf } from '../../rules/list.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import type { SqliteJob } from '../rules/job.ts'
import type { SqliteMove } from '../rules/move.ts'

export function list(move: SqliteMove, query: ListQuery): Page {
  const ascending = query.order === 'asc'
  const [at, type, id] = query.cursor === undefined ? [null, null, null] : decodeCursor(query.cursor)
  const from = query.createdFrom ?? 0
  const to = query.createdTo ?? Number.MAX_SAFE_INTEGER
  const { listUp, listDown } = move.set.statements
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
    const job = move.set.jobOf(seq)!
    if (matches(move, job, query) && found.push(job) > query.limit) break
  }
  return pageOf(move, query, found)
}

/** A job whose row says scheduled reads as queued once it is due. */
const codesOf = (state: JobState): number[] =>
  state === 'queued' ? [stateCodes.queued, stateCodes.scheduled] : [stateCodes[state]]
