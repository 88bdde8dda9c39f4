// A group as a row.

import type { Paused } from '../../storage.ts'
import { emptyGroup, type GroupState } from '../../rules/flow.ts'
import { decodeOptionalText } from '../sql/text.ts'
import type { PostgresType } from './type-registry.ts'

export type GroupRow = readonly (string | null)[]

export interface PostgresGroup extends GroupState {
  readonly type: PostgresType
  readonly key: string
  readonly isNew: boolean
  /** What to do with its row at the end of the call. */
  fate: 'none' | 'kept' | 'erased'
}

/** @param row running, placed, paused_since, paused_by */
export function groupOfRow(type: PostgresType, key: string, row: GroupRow | null): PostgresGroup {
  const [, , since, by] = row ?? [null, null, null, null]
  return { ...emptyGroup, type, key, isNew: row === null, fate: 'none', paused: pausedOf(since!, by!) }
}

export const pausedOf = (since: string | null, by: string | null): Paused | undefined =>
  since === null ? undefined : { since: Number(since), by: decodeOptionalText(by) }
