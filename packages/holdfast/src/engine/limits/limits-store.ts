// The stored limits. Each change is a compare-and-set, so that concurrent ones do not undo each other, and is followed by a hint for
// the workers that hold a copy.

import { isDeepStrictEqual } from 'node:util'
import { invalidArgument } from '../../errors.ts'
import type { Bytes } from '../../storage/storage.ts'
import type { GuardedStorage } from '../guard.ts'
import type { StorageTime } from '../schedule/storage-time.ts'
import type { Declared } from './effective-limits.ts'
import type { GroupLimitsPatch, LimitsPatch } from './limits-options.ts'
import {
  decodeLimits,
  encodeLimits,
  entryKey,
  limitsKey,
  limitsTopic,
  type LimitsOverride,
  patched,
  patchedGroup,
  type StoredLimits,
  typeOfEntry,
} from './stored-limits.ts'

const pageSize = 1_000

/** Groups of a type with limits of their own: every claim carries them. */
const mostGroups = 1_000

type Reading = Pick<GuardedStorage, 'kv'>

export async function readLimitsOf({ kv }: Reading, type: string): Promise<StoredLimits | undefined> {
  const bytes = await kv.get(entryKey(type))
  return bytes && decodeLimits(bytes)
}

/** Reads the limits of many types in one call; more than 1,000 types with limits on the storage take more. */
export async function readLimits(
  storage: Reading,
  isWanted: (type: string) => boolean,
): Promise<ReadonlyMap<string, StoredLimits>> {
  const found = new Map<string, StoredLimits>()
  for await (const [type, bytes] of limitEntries(storage)) if (isWanted(type)) found.set(type, decodeLimits(bytes))
  return found
}

/** The entries of all types, as they are stored. */
export async function* limitEntries({ kv }: Reading): AsyncGenerator<readonly [type: string, bytes: Bytes]> {
  for (let cursor: string | undefined; ;) {
    const { items, nextCursor } = await kv.list(limitsKey, { limit: pageSize, ...(cursor !== undefined && { cursor }) })
    for (const { key, value } of items) yield [typeOfEntry(key), value]
    if (nextCursor === undefined) return
    cursor = nextCursor
  }
}

/**
 * Stores what code declares for a type. Code of a lower release than the stored one changes nothing. Code that declares nothing removes
 * what a lower release declared: with the same release, it may be a part of the same program.
 */
export async function declareLimits(
  storage: Pick<GuardedStorage, 'kv' | 'pause'>,
  type: string,
  { limits, release }: Declared,
): Promise<void> {
  await changeLimits(storage, type, (stored) => {
    const before = stored.declared
    if (before && release < before.release) return stored
    if (limits) {
      const declared = { limits, release }
      return isDeepStrictEqual(before, declared) ? stored : { ...stored, declared }
    }
    return before && release > before.release ? { ...stored, declared: undefined } : stored
  })
}

/** What an operator sets. @param patch null: removes all that was set @throws TypeError INVALID_ARGUMENT for too many groups */
export async function overrideLimits(
  storage: Pick<GuardedStorage, 'kv' | 'pause'>,
  type: string,
  patch: LimitsPatch | GroupLimitsPatch | null,
  {
    group,
    by,
    time,
  }: { readonly group: string | undefined; readonly by: string | undefined; readonly time: StorageTime },
): Promise<void> {
  const at = await time.now()
  const made = <T>(limits: T | undefined): LimitsOverride<T> | undefined => limits && { limits, at, by }
  await changeLimits(storage, type, (stored) => {
    if (group === undefined) {
      const override = patch && made(patched(stored.override?.limits, patch as LimitsPatch))
      return { ...stored, override: override ?? undefined }
    }
    const { [group]: before, ...others } = stored.groups ?? {}
    const override = patch && made(patchedGroup(before?.limits, patch as GroupLimitsPatch))
    const groups = { ...others, ...(override && { [group]: override }) }
    const size = Object.keys(groups).length
    if (size > mostGroups) throw invalidArgument('group', `at most ${mostGroups} groups with limits of their own`, size)
    return { ...stored, groups: size === 0 ? undefined : groups }
  })
}

/** @param change returns the same object: nothing is written */
async function changeLimits(
  storage: Pick<GuardedStorage, 'kv' | 'pause'>,
  type: string,
  change: (stored: StoredLimits) => StoredLimits,
): Promise<void> {
  const key = entryKey(type)
  for (;;) {
    const bytes = await storage.kv.get(key)
    const stored = bytes ? decodeLimits(bytes) : {}
    const changed = change(stored)
    if (changed === stored) return
    const { declared, override, groups } = changed
    const isEmpty = !declared && !override && !groups
    if (isEmpty && !bytes) return
    if (!(await storage.kv.cas(key, bytes, isEmpty ? undefined : encodeLimits(changed)))) continue
    return storage.pause({ type: limitsTopic, paused: false })
  }
}
