// list with `where`: along the index of the search field that finds the fewest jobs. The rules check the other fields.

import { stateCodes } from '../../rules/job/codes.ts'
import type { ListQuery } from '../../storage.ts'
import type { SqliteMove } from '../rules/move.ts'
import { keyRanges, type SearchKey, textKey } from '../rules/search-keys.ts'
import { typesOf } from './list-place.ts'
import { indexRun, type Run, stepsPerPage } from './walk.ts'

/** Type and range. */
export const searchIdLength = 2

/** The field to search by. Undefined if there is no condition. */
export function searchField(move: SqliteMove, query: ListQuery): string | undefined {
  const names = Object.keys(query.where ?? {})
  if (names.length < 2) return names[0]
  const counts = names.map((name) => ({ name, count: countEntries(move, query, name, stepsPerPage) }))
  return counts.toSorted((a, b) => a.count - b.count)[0]!.name
}

/** The number of entries of a field that may match, up to a limit. */
export function countEntries(move: SqliteMove, query: ListQuery, name: string, limit: number): number {
  const { countFields } = move.set.statements
  const ranges = keyRanges(query.where![name]!)
  let count = 0
  for (const { tid } of typesOf(move, query, undefined)) {
    for (const range of ranges) {
      if (count >= limit) return count
      count += (countFields.get(tid, textKey(name), ...range, limit - count) as unknown as [number])[0]
    }
  }
  return count
}

/** @param tid of the type to begin with */
export function* searchRuns(move: SqliteMove, query: ListQuery, name: string, tid: number | undefined): Generator<Run> {
  const isUp = query.order === 'asc'
  const { searchUp, searchDown } = move.set.statements
  const isWanted = stateFilter(move, query)
  const field = textKey(name)
  const ranges = [...keyRanges(query.where![name]!).entries()]
  for (const type of typesOf(move, query, tid)) {
    for (const [number, range] of isUp ? ranges : ranges.toReversed()) {
      const id = [type.tid, number]
      yield indexRun(isUp ? searchUp : searchDown, isUp, id, { tid: type.tid, field }, range, (row) => {
        const [value, seq, state] = row as [SearchKey, number, number]
        return { key: [value, seq], job: isWanted(state) ? move.set.jobOf(seq) : undefined }
      })
    }
  }
}

/** Whether the job of an entry may match by its state, so that others are not read. */
function stateFilter({ set }: SqliteMove, { of, states }: ListQuery): (code: number) => boolean {
  // The state of a chain is that of its tail.
  if (!states || of === 'chains') return () => true
  // A job whose row says scheduled reads as queued once it is due.
  const codes = new Set<number>(states.map((state) => stateCodes[state]))
  if (codes.has(stateCodes.queued)) codes.add(stateCodes.scheduled)
  // The row of a job in an open claim says queued.
  if (codes.has(stateCodes.processing) && !set.claims.isEmpty) codes.add(stateCodes.queued)
  return (code) => codes.has(code)
}
