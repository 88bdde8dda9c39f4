// The changes of a commit as plain data: read from a file, or made from the state before a call, to undo it.

import type { Mark } from '../../memory/data.ts'
import type { KvEntry } from '../../memory/kv-data.ts'
import type { Flow, GroupState } from '../../rules/flow.ts'
import type { MarkFields } from '../../rules/move.ts'
import type { JobRef, Paused } from '../../storage.ts'
import type { GroupPart } from './group-part.ts'
import type { ChangingPart, FixedPart } from './record.ts'

export interface JobPut {
  /** Absent: the job exists, and only `changing` changes. */
  readonly fixed: FixedPart | undefined
  readonly type: string
  readonly id: string
  readonly changing: ChangingPart
}

export interface KeyPut {
  readonly type: string
  readonly key: string
  /** Absent: the key is free. */
  readonly mark: Mark | MarkFields | undefined
}

export interface GroupPut {
  readonly type: string
  readonly key: string
  /** Absent: the group is deleted. With the numbers of its members, these count, and not those of the records. */
  readonly state: GroupPart | GroupState | undefined
}

export interface FlowPut {
  readonly type: string
  /** Absent: the flow is deleted. */
  readonly flow: Flow | undefined
}

export interface PausePut {
  readonly type: string
  /** Only in commits of format 1: the pause of a group is part of its state now. */
  readonly group: string | undefined
  readonly paused: Paused | undefined
}

export interface Changes {
  readonly erased: JobRef[]
  readonly jobs: JobPut[]
  readonly keys: KeyPut[]
  readonly groups: GroupPut[]
  readonly flows: FlowPut[]
  readonly pauses: PausePut[]
  readonly entries: { readonly key: string; readonly entry: KvEntry | undefined }[]
  /** Everything is deleted first. */
  cleared: boolean
  /** From a commit of format 1: the states of groups follow from the records. */
  readonly hasNoGroups: boolean
  /** The number that was taken last. */
  lastNumber: number
}

export const noChanges = (lastNumber: number, hasNoGroups = false): Changes => ({
  erased: [],
  jobs: [],
  keys: [],
  groups: [],
  flows: [],
  pauses: [],
  entries: [],
  cleared: false,
  hasNoGroups,
  lastNumber,
})
