// The limits of a type in the key-value store: one entry per type, with what code declared and what operators set over it.

import { groupLimitsOptions, limitsOptions } from './limits-options.ts'
import { resolveOptions, type Table } from '../../resolve-options.ts'
import { integer, isFields, nonNegative, text } from '../../option-checks.ts'
import { isValid, readJson } from '../read-json.ts'
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

/**
 * A part that cannot be read, of a bad disk or another program, counts as absent: one entry must not stop the workers of its type. The
 * next change replaces it. doctor() reports it (unreadableParts).
 */
export function decodeLimits(bytes: Bytes): StoredLimits {
  const { declared, override, groups } = partsOf(bytes) ?? {}
  const read = {
    declared: isDeclared(declared) ? declared : undefined,
    override: isOverride(override) ? override : undefined,
    groups: groupsOf(groups),
  }
  // Only what is there, so that an entry without a part equals one that never had it.
  return Object.fromEntries(Object.entries(read).filter(([, part]) => part !== undefined)) as StoredLimits
}

/** The parts of an entry that decodeLimits() takes for absent, in words. */
export function unreadableParts(bytes: Bytes): string[] {
  const parts = partsOf(bytes)
  if (!parts) return ['the whole entry']
  const { declared, override, groups } = parts
  const found: string[] = []
  if (declared !== undefined && !isDeclared(declared)) found.push('what code declares')
  if (override !== undefined && !isOverride(override)) found.push('what an operator set')
  if (groups === undefined) return found
  if (!isObject(groups)) return [...found, 'those of groups']
  for (const [key, limits] of Object.entries(groups))
    if (!isGroupOverride(limits)) found.push(`those of group '${key}'`)
  return found
}

type Parts = Partial<StoredLimits>

function partsOf(bytes: Bytes): Parts | undefined {
  const json = readJson(bytes, (_, value: unknown) => (value === null ? Infinity : value))
  return Array.isArray(json) ? undefined : (json as Parts | undefined)
}

const isObject = (value: unknown): value is object => value !== null && typeof value === 'object'
const isDeclared = (part: Parts['declared']): boolean => isValid(() => checkDeclared(part))
const isOverride = (part: Parts['override']): boolean => isValid(() => checkOverride(part, limitsOptions))
const isGroupOverride = (part: LimitsOverride<object>): boolean =>
  isValid(() => checkOverride(part, groupLimitsOptions))

function checkDeclared(declared: StoredLimits['declared']): void {
  integer(0)('release', declared!.release)
  isFields('limits', declared!.limits)
  resolveOptions('declared', declared!.limits, limitsOptions)
}

function checkOverride(override: LimitsOverride<object> | undefined, table: Table): void {
  nonNegative('at', override!.at)
  if (override!.by !== undefined) text(256)('by', override!.by)
  isFields('limits', override!.limits)
  resolveOptions('override', override!.limits, table)
}

function groupsOf(groups: StoredLimits['groups']): StoredLimits['groups'] {
  if (!isObject(groups)) return undefined
  const valid = Object.entries(groups).filter(([, override]) => isGroupOverride(override))
  return valid.length === 0 ? undefined : Object.fromEntries(valid)
}

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
