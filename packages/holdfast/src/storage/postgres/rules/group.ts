// A group as a row.

import { emptyGroup, type GroupState } from '../../rules/flow.ts'
import type { RateUse } from '../../rules/job/rate.ts'
import type { Paused } from '../../storage.ts'
import type { Value } from '../connection/database.ts'
import { decodeOptionalText, encodeOptionalText, encodeText, numberOf } from '../sql/text.ts'
import type { FinalNumber } from './job.ts'
import type { PostgresType } from './type-registry.ts'

/** The cells of a row behind its name (sql/group-statements.ts). */
export type GroupRow = readonly (string | null)[]

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

export interface PostgresGroup extends Writable<GroupState> {
  readonly type: PostgresType
  readonly key: string
  readonly isNew: boolean
  /** What to do with its row at the end of the call. */
  fate: 'none' | 'kept' | 'erased'
}

export function groupOfRow(type: PostgresType, key: string, row: GroupRow | null): PostgresGroup {
  return { ...(row ? groupStateOf(row) : emptyGroup), type, key, isNew: row === null, fate: 'none' }
}

export function groupStateOf(row: GroupRow): GroupState {
  const [ordered, size, running, turnAt, turn, isFull, since, by, heldBy, slowedUntil, rateFreeAt, rate] = row
  return {
    ordered: ordered === 'true',
    size: Number(size),
    running: Number(running),
    turnAt: numberOf(turnAt!),
    turn: Number(turn),
    isFull: isFull === 'true',
    paused: pausedOf(since!, by!),
    heldBy: heldBy === null ? undefined : (JSON.parse(heldBy!) as string[]),
    slowedUntil: Number(slowedUntil),
    rateFreeAt: Number(rateFreeAt),
    rate: rate === null ? undefined : (JSON.parse(rate!) as RateUse),
  }
}

/** The cells of the row, with its name. */
export function groupCells(group: PostgresGroup, final: FinalNumber): Value[] {
  const { type, key, paused, heldBy, rate } = group
  return [
    type.tid,
    encodeText(key),
    String(group.ordered),
    group.size,
    group.running,
    group.turnAt ?? null,
    final(group.turn),
    String(group.isFull),
    paused?.since ?? null,
    encodeOptionalText(paused?.by),
    heldBy ? JSON.stringify(heldBy) : null,
    group.slowedUntil,
    group.rateFreeAt,
    rate ? JSON.stringify(rate) : null,
    neededUntil(group),
  ]
}

/** When a sweep may delete the row. Null: not by time. */
function neededUntil({ size, paused, heldBy, slowedUntil, rate }: PostgresGroup): number | null {
  if (size > 0 || paused || heldBy) return null
  return Math.max(slowedUntil, ...(rate?.buckets ?? []).map(([, last]) => last + rate!.perMs))
}

export const pausedOf = (since: string | null, by: string | null): Paused | undefined =>
  since === null ? undefined : { since: Number(since), by: decodeOptionalText(by) }
