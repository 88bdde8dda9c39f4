// The places of a list by place: index scans that together have every job once. A scan goes along lanes (a type, and a priority, a
// state or an interval of search values), and inside a lane by keys. Each statement scans a bounded number of entries, and says
// which of them may match. Not prepared: a list is rare, and its plan depends on the size of the tables.

import { stateCodes } from '../../rules/job/codes.ts'
import type { Statement } from '../connection/database.ts'
import { effectiveState, isCommon, isSeldom, readyCodes, seldomAt } from './job-columns.ts'
import { hasOtherFields } from './search-fields.ts'
import { columns, listParam, param, type Sql } from './statement.ts'

/** In the order of a page. */
export const placeNames = ['ready', 'aside', 'leases', 'seldom', 'common', 'search'] as const
export type PlaceName = (typeof placeNames)[number]

export type KeyType = 'double precision' | 'bigint' | 'text' | 'bytea'

interface PlaceSql {
  /** A row `j` is in the lane `l`. Only what an index decides: every row of a lane counts as scanned. */
  readonly isInLane: string
  /** A row of the lane is in this place. Absent: all are. */
  readonly isHere?: string
  /** Its order inside the lane: unique, and as an index has it. */
  readonly keys: readonly (readonly [expression: string, type: KeyType])[]
}

/** @param name number of the parameter with the name of the field */
function isInSearchLane(name: number): string {
  return `s.tid = l.tid AND s.name = ${param(name, 'text')} AND s.value >= l.start AND s.value < l.stop`
}

export const places: Readonly<Record<PlaceName, PlaceSql>> = {
  /** Lanes: types and priorities. As a claim scans them. */
  ready: {
    isInLane: `j.tid = l.tid AND j.ready = ${readyCodes.ready} AND j.priority = l.sub`,
    keys: [
      ['j.run_at', 'double precision'],
      ['j.ord', 'bigint'],
    ],
  },
  /** Lanes: types. Jobs behind the head of their group. */
  aside: {
    isInLane: `j.tid = l.tid AND j.grp IS NOT NULL AND j.state < ${stateCodes.completed}`,
    isHere: `j.ready = ${readyCodes.aside}`,
    keys: [
      ['j.grp', 'text'],
      ['j.seq', 'bigint'],
    ],
  },
  /** Lanes: types. */
  leases: {
    isInLane: `j.tid = l.tid AND j.state = ${stateCodes.processing}`,
    keys: [
      ['j.lease_until', 'double precision'],
      ['j.seq', 'bigint'],
    ],
  },
  /** Lanes: types and states. */
  seldom: {
    isInLane: `j.tid = l.tid AND j.state = l.sub AND ${isSeldom('j')}`,
    keys: [
      [seldomAt('j'), 'double precision'],
      ['j.seq', 'bigint'],
    ],
  },
  /** One lane for all types. */
  common: {
    isInLane: 'j.sweep_at IS NOT NULL',
    isHere: isCommon('j'),
    keys: [
      ['j.sweep_at', 'double precision'],
      ['j.seq', 'bigint'],
    ],
  },
  /** Lanes: types and intervals of values. Instead of all others if a list has a `where`. */
  search: {
    isInLane: isInSearchLane(10),
    keys: [
      ['s.value', 'bytea'],
      ['s.created_at', 'double precision'],
      ['s.seq', 'bigint'],
    ],
  },
}

interface ScanOptions {
  readonly order: 'asc' | 'desc'
  readonly hasStart: boolean
  /** Of the ready jobs, only those that are due now, or later. Absent: all. */
  readonly due?: 'now' | 'later' | undefined
  /** Outside of the search index: only jobs that have some search fields. */
  readonly hasFields?: boolean
  /** Returns no entry but the last if there are as many as the limit. */
  readonly onlyIfFewer?: boolean
  /** Of the jobs in groups, only those of one. `aside` has those that run, too. */
  readonly isOfGroup?: boolean
}

/** Of the members of a group. Blocked ones are elsewhere. */
const isWaitingOrRunning = `(j.ready = ${readyCodes.aside} OR j.state = ${stateCodes.processing})`

/**
 * $1, $2: lanes, in order; $3: limit of entries; $4: numbers of types; $5: codes of states, or NULL; $6: only first jobs; $7: the
 * group, or NULL; $8, $9: created from and before. For `search` also $10: name of the field; $11, $12: its intervals, of which a
 * lane has the number `sub`; $13 … $16: the other fields. With `hasFields`, $10 … $13: the fields. Then the keys of the start, if
 * there is one: it is in the first lane.
 */
export function scanStatement({ at, now }: Sql, name: PlaceName, options: ScanOptions): Statement {
  const { order, hasStart, due, hasFields = false, onlyIfFewer = false, isOfGroup = false } = options
  const { keys } = places[name]
  const isHere = name === 'aside' && isOfGroup ? isWaitingOrRunning : (places[name].isHere ?? 'true')
  const part =
    name === 'ready' && due
      ? ` AND j.run_at ${due === 'now' ? '<=' : '>'} now`
      : name === 'aside' && isOfGroup
        ? ` AND j.grp = ${param(7, 'text')}`
        : ''
  const isInLane = `${places[name].isInLane}${part}`
  const isSearch = name === 'search'
  const keyParams = keys.map(([, type], index) => keyParam((isSearch ? 17 : hasFields ? 14 : 10) + index, type))
  const start = `(${keys.map(([key]) => key).join(', ')}) ${order === 'asc' ? '>' : '<'} (${keyParams.join(', ')})`
  const lanes = isSearch
    ? searchLanes(11)
    : `(SELECT * FROM unnest(${listParam(1, 'integer[]')}, ${listParam(2, 'integer[]')}) WITH ORDINALITY AS l (tid, sub, n) ORDER BY l.n)`
  const rows = isSearch
    ? `${at}search AS s CROSS JOIN LATERAL (
        SELECT * FROM ${at}jobs AS j WHERE j.tid = s.tid AND j.id = s.id AND j.seq = s.seq LIMIT 1) AS j`
    : `${at}jobs AS j`
  const fits = `${isHere} AND j.tid = ANY (${listParam(4, 'integer[]')})
    AND (${listParam(5, 'smallint[]')} IS NULL OR ${effectiveState('j.state', 'j.run_at')} = ANY (${listParam(5, 'smallint[]')})
      OR (${param(6, 'boolean')} AND j.tail IS NOT NULL))
    AND (NOT ${param(6, 'boolean')} OR j.chain IS NULL)
    AND (${param(7, 'text')} IS NULL OR j.grp = ${param(7, 'text')})
    AND j.created_at >= ${param(8, 'double precision')} AND j.created_at < ${param(9, 'double precision')}
    ${isSearch ? `AND ${hasOtherFields(at, 's.seq', 13)}` : hasFields ? `AND ${hasOtherFields(at, 'j.seq', 10)}` : ''}`
  const keyNames = keys.map((_, index) => `k${index}`)
  return {
    name: '',
    text: `
    WITH clock AS MATERIALIZED (SELECT ${now} AS now),
    scanned AS MATERIALIZED (
      SELECT j.*, row_number() OVER () AS place FROM (
        SELECT l.n AS lane, j.* FROM clock CROSS JOIN ${lanes} AS l CROSS JOIN LATERAL (
          SELECT j.tid, j.id, coalesce(${fits}, false) AS fits, ${keys.map(([key], index) => `${key} AS k${index}`).join(', ')}
          FROM ${rows} WHERE ${isInLane} ${hasStart ? `AND ${start}` : ''}
          ORDER BY ${keys.map(([key]) => `${key} ${order}`).join(', ')} LIMIT ${param(3, 'integer')}) AS j
        LIMIT ${param(3, 'integer')}) AS j),
    last AS MATERIALIZED (SELECT coalesce(max(place), 0) AS place FROM scanned)
    SELECT ${columns('last.place', 's.lane', 's.tid', 's.id', 's.fits', ...keyNames.map((key, index) => (keys[index]![1] === 'bytea' ? `encode(s.${key}, 'hex')` : `s.${key}`)))}
    FROM last JOIN scanned AS s ON (s.fits${onlyIfFewer ? ` AND last.place < ${param(3, 'integer')}` : ''}) OR s.place = last.place
    ORDER BY s.place`,
  }
}

/** $1, $2: lanes. @param first number of the first of two parameters: the intervals */
const searchLanes = (first: number): string =>
  `(SELECT l.*, i.start, i.stop FROM unnest(${listParam(1, 'integer[]')}, ${listParam(2, 'integer[]')}) WITH ORDINALITY AS l (tid, sub, n)
      JOIN unnest(${listParam(first, 'bytea[]')}, ${listParam(first + 1, 'bytea[]')}) WITH ORDINALITY AS i (start, stop, number) ON i.number = l.sub + 1
      ORDER BY l.n)`

const keyParam = (number: number, type: KeyType): string =>
  type === 'bytea' ? `decode($${number}::text, 'hex')` : param(number, type)

/** The number of search entries in lanes, up to a limit. $1, $2: lanes; $3: limit; $4: name of the field; $5, $6: its intervals. */
export const searchSizeStatement = ({ at }: Sql): Statement => ({
  name: '',
  text: `
    SELECT ${columns('count(*)')} FROM (
      SELECT 1 FROM ${searchLanes(5)} AS l CROSS JOIN LATERAL (
        SELECT 1 FROM ${at}search AS s WHERE ${isInSearchLane(4)} LIMIT ${param(3, 'integer')}) AS s
      LIMIT ${param(3, 'integer')}) AS s`,
})
