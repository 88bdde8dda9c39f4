// A group as a row.

import type { Paused } from '../../storage.ts'
import { emptyGroup, type GroupState } from '../../rules/flow.ts'
import type { SqliteType } from './type.ts'

export interface SqliteGroup extends GroupState {
  readonly type: SqliteType
  readonly key: string
}

export const newGroup = (type: SqliteType, key: string, paused: Paused | undefined): SqliteGroup => ({
  ...emptyGroup,
  type,
  key,
  paused,
})
