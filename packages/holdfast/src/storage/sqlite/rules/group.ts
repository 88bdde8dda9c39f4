// A group as a row: its columns, how they are read and how they are written.

import { emptyGroup, type GroupState } from '../../rules/flow.ts'
import { instant } from './job.ts'
import { pausedOf, type SqliteType } from './type.ts'

export const groupColumns = 'key, ordered, size, running, turn_at, turn, paused_since, paused_by, more'

type Cell = number | string | null

export interface SqliteGroup extends GroupState {
  readonly type: SqliteType
  readonly key: string
  /** It has to be written, or deleted if nothing of it is needed any more. */
  isDirty: boolean
  isNeeded: boolean
  /** It has a row. */
  isStored: boolean
}

export const newGroup = (type: SqliteType, key: string): SqliteGroup => ({
  ...emptyGroup,
  type,
  key,
  isDirty: false,
  isNeeded: false,
  isStored: false,
})

/** The fields that few groups have, as JSON in one column. */
type More = Partial<Pick<GroupState, 'isFull' | 'heldBy' | 'slowedUntil' | 'rateFreeAt' | 'rate'>>

export type GroupRow = [
  key: string,
  ordered: number,
  size: number,
  running: number,
  turnAt: number | null,
  turn: number,
  pausedSince: number | null,
  pausedBy: string | null,
  more: string | null,
]

export function readGroup(type: SqliteType, row: GroupRow): SqliteGroup {
  const [key, ordered, size, running, turnAt, turn, since, by, more] = row
  return {
    ...newGroup(type, key),
    ordered: ordered === 1,
    size,
    running,
    turnAt: turnAt ?? undefined,
    turn,
    paused: pausedOf(since, by),
    isNeeded: true,
    isStored: true,
    ...(more === null ? undefined : (decodeFlow(more) as More)),
  }
}

export function groupCells(group: SqliteGroup): Cell[] {
  const { key, ordered, size, running, turnAt, turn, paused } = group
  return [
    key,
    ordered ? 1 : 0,
    size,
    running,
    turnAt === undefined ? null : instant(turnAt),
    turn,
    paused?.since ?? null,
    paused?.by ?? null,
    moreCell(group),
    untilCell(group),
  ]
}

function moreCell({ isFull, heldBy, slowedUntil, rateFreeAt, rate }: SqliteGroup): string | null {
  if (!isFull && !heldBy && slowedUntil === 0 && rateFreeAt === 0 && !rate) return null
  const more: More = {
    ...(isFull ? { isFull } : {}),
    ...(heldBy ? { heldBy } : {}),
    ...(slowedUntil > 0 ? { slowedUntil } : {}),
    ...(rateFreeAt > 0 ? { rateFreeAt } : {}),
    ...(rate ? { rate } : {}),
  }
  return JSON.stringify(more)
}

/** When a sweep may delete the group. Null: only another call can make it so. */
function untilCell({ size, paused, heldBy, slowedUntil, rate }: SqliteGroup): number | null {
  if (size > 0 || paused || heldBy) return null
  const until = (rate?.buckets ?? []).reduce((at, [, last]) => Math.max(at, last + rate!.perMs), slowedUntil)
  return instant(until)
}

/** JSON has no Infinity: only instants and windows can be infinite, and nothing here is null. */
export const decodeFlow = (text: string): unknown =>
  JSON.parse(text, (_, value: unknown) => (value === null ? Infinity : value))
