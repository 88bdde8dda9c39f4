// list by place: along the indexes that claims, recovery and sweeps use, and a table of the jobs that these do not have:
//
//   queued, scheduled   index ready, in the order of claims     blocked, failing   table places, as they come due
//   processing          index leases, by the end of the lease   ended              index ended, by expiry; then places, by their end

import { stateCodes, stateNames } from '../../rules/job/codes.ts'
import type { JobState, ListQuery } from '../../storage.ts'
import type { Row } from '../rules/job.ts'
import type { SqliteMove } from '../rules/move.ts'
import type { SqliteType } from '../rules/type.ts'
import { withOpenClaims } from './open-claims-run.ts'
import { type Entry, indexRun, type Run } from './walk.ts'

const { MAX_SAFE_INTEGER: latest } = Number

/** Type, state, part and priority. */
export const placeIdLength = 4

/** The runs of these states, type by type. @param tid of the type to begin with */
export function* placeRuns(
  move: SqliteMove,
  query: ListQuery,
  states: readonly JobState[],
  tid: number | undefined,
): Generator<Run> {
  const isUp = query.order === 'asc'
  for (const type of typesOf(move, query, tid)) {
    // Takes its step of the page: there may be many types, and nothing in them.
    yield { id: [type.tid, isUp ? -1 : stateNames.length, 0, 0], read: () => [] }
    const runs = runsOfType(move, type, states, isUp)
    yield* isUp ? runs : runs.toReversed()
  }
}

/** The types of a query, in the order of their numbers, from one of them on. */
export function* typesOf(
  move: SqliteMove,
  { types: names, order }: ListQuery,
  from: number | undefined,
): Generator<SqliteType> {
  const isUp = order === 'asc'
  const start = from ?? (isUp ? -1 : latest)
  const { statements, types } = move.set
  if (!names) {
    const rows = (isUp ? statements.typesUp : statements.typesDown).iterate(start) as Iterable<unknown>
    for (const [tid] of rows as Iterable<[number]>) yield types.byId(tid)
    return
  }
  const found = [...new Set(names)].flatMap((name) => types.find(name) ?? [])
  found.sort((a, b) => (isUp ? a.tid - b.tid : b.tid - a.tid))
  for (const type of found) if (isUp ? type.tid >= start : type.tid <= start) yield type
}

/** The states that the jobs of a list may have. The first job of a chain is completed, whatever the state of its tail. */
export function wantedStates({ of, states }: ListQuery): readonly JobState[] {
  if (!states) return stateNames
  return stateNames.filter((state) => states.includes(state) || (of === 'chains' && state === 'completed'))
}

/** The number of jobs in each state, by its code, as stored. */
export const countsOf = (move: SqliteMove, { tid }: SqliteType): readonly number[] =>
  move.set.statements.countsOfType.get(tid) as unknown as number[]

function runsOfType(move: SqliteMove, type: SqliteType, states: readonly JobState[], isUp: boolean): Run[] {
  const counts = countsOf(move, type)
  return states.flatMap((state) => {
    const code = stateCodes[state]
    // A job whose row says scheduled reads as queued once it is due.
    const number = state === 'queued' ? counts[code]! + counts[stateCodes.scheduled]! : counts[code]!
    return number === 0 ? [] : runsOfState(move, type, state, isUp)
  })
}

function runsOfState(move: SqliteMove, { tid }: SqliteType, state: JobState, isUp: boolean): Run[] {
  const code = stateCodes[state]
  const run = (
    place: Place,
    { part = 0, params = { state: code }, bounds = all, priority = 0 }: RunFields = {},
  ): Run => {
    const { statements } = move.set
    const statement = isUp ? statements[`${place}Up`] : statements[`${place}Down`]
    const id = [tid, code, part, -priority]
    return indexRun(statement, isUp, id, { tid, ...params }, bounds, (row) => entryOf(move, place, state, row as Row))
  }
  switch (state) {
    case 'queued':
    case 'scheduled': {
      const bounds: Bounds = state === 'queued' ? [0, move.now] : [move.now, latest]
      return [1, 0].flatMap((ready, part) =>
        prioritiesOf(move, tid, ready).map((priority) =>
          run('ready', { part, params: { ready, priority }, bounds, priority }),
        ),
      )
    }
    case 'blocked':
    case 'failing':
      return [run('places')]
    case 'processing':
      return [withOpenClaims(move, tid, isUp, run('leases', { params: {} }))]
    default:
      // What has expired is gone, swept or not.
      return [run('ended', { bounds: [move.now, latest] }), run('places', { part: 1 })]
  }
}

type Place = 'ready' | 'leases' | 'ended' | 'places'
type Bounds = readonly [low: number, high: number]
const all: Bounds = [0, latest]

interface RunFields {
  readonly part?: number
  readonly params?: Readonly<Record<string, number>>
  readonly bounds?: Bounds
  readonly priority?: number
}

/** The positions of the columns that order an index, among those of a job (rules/job.ts). */
const orderCells = { ready: [12, 13], leases: [18, 0], ended: [26, 0] } as const

function entryOf(move: SqliteMove, place: Place, state: JobState, row: Row): Entry {
  const { set, now } = move
  if (place === 'places') return { key: [row[0] as number, row[1] as number], job: set.jobOf(row[1] as number) }
  const [first, second] = orderCells[place]
  const job = set.jobs.ofRow(row)
  // Failing jobs are ready, too, but have a run of their own, as those of open claims. A job that is due at this instant is in both other runs.
  const isHere =
    place !== 'ready' ||
    (job.state !== 'failing' && job.state !== 'processing' && job.runAt > now === (state === 'scheduled'))
  return { key: [row[first] as number, row[second] as number], job: isHere ? job : undefined }
}

/** The priorities of jobs that are ready (1) or aside (0), the highest first. */
function prioritiesOf({ set }: SqliteMove, tid: number, ready: number): number[] {
  const found: number[] = []
  for (let below = 1_000; ;) {
    const first = set.statements.firstOfPriority.get(tid, ready, below) as unknown as [number] | undefined
    if (!first) return found
    found.push((below = first[0]))
  }
}
