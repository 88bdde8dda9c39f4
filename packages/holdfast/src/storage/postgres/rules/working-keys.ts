// The deduplication keys of one run of the rules, and which of them changed.

import { markOn } from '../../rows/mark.ts'
import type * as Moves from '../../rules/move.ts'
import type { DeduplicationMode } from '../../storage.ts'
import { decodeText, encodeText } from '../sql/text.ts'
import { nameOf } from './row-name.ts'
import type { PostgresType } from './type-registry.ts'
import type { WorkingSet } from './working-set.ts'

export interface ChangedKey {
  readonly type: PostgresType
  readonly key: string
  /** Undefined: the key is free now. */
  readonly mark: Moves.Mark | undefined
  /** There was no row for it. */
  readonly isNew: boolean
}

export class WorkingKeys {
  readonly #set: WorkingSet
  readonly #marks = new Map<string, Moves.Mark | null>()
  readonly #changed = new Map<string, ChangedKey>()

  constructor(set: WorkingSet) {
    this.#set = set
  }

  changed(): Iterable<ChangedKey> {
    return this.#changed.values()
  }

  markOf(type: PostgresType, key: string): Moves.Mark | undefined {
    const encoded = encodeText(key)
    const name = nameOf(type.tid, encoded)
    const known = this.#marks.get(name)
    if (known !== undefined) return known ?? undefined
    const { isSnapshot, loaded } = this.#set
    // A snapshot contains no keys: readers see the key as the job's own row has it.
    if (isSnapshot) return undefined
    const row = loaded.keys.get(name)
    if (row === undefined) {
      loaded.wanted.keys.set(name, { tid: type.tid, key: encoded })
      this.#set.miss()
    }
    const mark = row ? markOn(this.#set, type, markFields(key, row)) : undefined
    this.#marks.set(name, mark ?? null)
    return mark
  }

  hold(type: PostgresType, fields: Moves.MarkFields): Moves.Mark {
    const mark = markOn(this.#set, type, fields)
    this.#change(type, fields.key, mark)
    return mark
  }

  drop(type: PostgresType, key: string): void {
    this.#change(type, key, undefined)
  }

  #change(type: PostgresType, key: string, mark: Moves.Mark | undefined): void {
    // So that its row is read and locked.
    this.markOf(type, key)
    const name = nameOf(type.tid, encodeText(key))
    this.#marks.set(name, mark ?? null)
    this.#changed.set(name, { type, key, mark, isNew: this.#set.loaded.keys.get(name) === null })
  }
}

/** @param row id, token, mode, shared, until, replaced_by, version */
function markFields(
  key: string,
  [id, token, mode, shared, until, replacedBy, version]: readonly (string | null | undefined)[],
): Moves.MarkFields {
  return {
    key,
    id: decodeText(id!),
    token: decodeText(token!),
    mode: mode as DeduplicationMode,
    shared: shared === 'true',
    until: Number(until),
    replacedBy: replacedBy == null ? undefined : decodeText(replacedBy),
    version: version == null ? undefined : Number(version),
  }
}
