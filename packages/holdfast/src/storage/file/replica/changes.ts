// The changes of a commit as plain data: read from a file, or made from the state before a call, to undo it.

import type { Mark } from '../../memory/data.ts'
import type { KvEntry } from '../../memory/kv-data.ts'
import type { MarkFields } from '../../rules/move.ts'
import type { JobRef, Paused } from '../../storage.ts'
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

export interface PausePut {
  readonly type: string
  readonly group: string | undefined
  readonly paused: Paused | undefined
}

export interface Changes {
  readonly erased: JobRef[]
  readonly jobs: JobPut[]
  readonly keys: KeyPut[]
  readonly pauses: PausePut[]
  readonly entries: { readonly key: string; readonly entry: KvEntry | undefined }[]
  /** Everything is deleted first. */
  cleared: boolean
  /** The number that was taken last. */
  lastNumber: number
}

export const noChanges = (lastNumber: number): Changes => ({
  erased: [],
  jobs: [],
  keys: [],
  pauses: [],
  entries: [],
  cleared: false,
  lastNumber,
})
