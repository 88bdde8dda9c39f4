// The limits of a type in the key-value store: one entry per type, with what code declared and what operators set over it.

import type { KvKey } from '../../storage/kv.ts'
import type { Bytes } from '../../storage/storage.ts'
import { storedType } from '../../storage/stored-type.ts'
import type { GroupLimitsOptions, GroupLimitsPatch, LimitsOptions, LimitsPatch } from './limits-options.ts'

/** What operators set, with the operator of the last change. */
export interface LimitsOverride<T> {
  readonly limits: T
  /** When it was set last: epoch ms, by the storage's clock. */
  readonly at: number
  /** The operator who set it last. Absent: the call named none. */
  readonly by?: string | undefined
}

export interface StoredLimits {
  readonly declared?: { readonly limits: LimitsOptions; readonly release: number } | undefined
  readonly override?: LimitsOverride<LimitsOptions> | undefined
  /** By the key of the group. */
  readonly groups?: Readonly<Record<string, LimitsOverride<GroupLimitsOptions>>> | undefined
}

export const limitsKey: KvKey = ['holdfast', 'limits']
export const entryKey = (type: string): KvKey => [...limitsKey, type]
export const typeOfEntry = (key: KvKey): string => key.at(-1)!

/** A type without jobs: a resume of it wakes the workers that hold a copy of limits. */
export const limitsTopic = storedType('limits', '')

/** JSON has no Infinity: it becomes null, which means nothing else here. */
export const encodeLimits = (stored: StoredLimits): Bytes => Buffer.from(JSON.stringify(stored))

export const decodeLimits = (bytes: Bytes): StoredLimits =>
  JSON.parse(Buffer.from(bytes).toString(), (_, value: unknown) => (value === null ? Infinity : value)) as StoredLimits

/** The override with a patch applied. Undefined: nothing is left of it. */
export function patched(
  before: LimitsOptions | undefined,
  { group, ...patch }: LimitsPatch,
): LimitsOptions | undefined {
  const merged: LimitsOptions = withPatch(before, patch) ?? {}
  const { group: old, ...rest } = merged
  const groups = group === null ? undefined : group === undefined ? old : withPatch(old, group)
  return groups === undefined ? nonEmpty(rest) : { ...rest, group: groups }
}

/** As patched(), for one group. */
export function patchedGroup(
  before: GroupLimitsOptions | undefined,
  patch: GroupLimitsPatch,
): GroupLimitsOptions | undefined {
  return withPatch(before, patch)
}

function withPatch<T extends object>(before: T | undefined, patch: object): T | undefined {
  const merged = Object.entries({ ...before, ...patch }).filter(([, value]) => value !== null && value !== undefined)
  return nonEmpty(Object.fromEntries(merged) as T)
}

const nonEmpty = <T extends object>(value: T): T | undefined => (Object.keys(value).length === 0 ? undefined : value)
