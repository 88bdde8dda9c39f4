// The limits in force: what an operator set, over what code declared. And the part of them that a claim applies.

import type { GroupLimits, Limits, Rate } from '../../storage/storage.ts'
import type { GroupLimitsOptions, LimitsOptions, RateOptions } from './limits-options.ts'
import type { StoredLimits } from './stored-limits.ts'

export interface EffectiveLimits {
  readonly type: LimitsOptions
  /** Of the groups that an operator set limits for: complete, in the place of `type.group`. */
  readonly groups: ReadonlyMap<string, GroupLimitsOptions>
}

/** What the code of a process declares for a type, and the number of its deployment. */
export interface Declared {
  readonly limits: LimitsOptions | undefined
  readonly release: number
}

/** @returns undefined: the type has no limits */
export function effectiveLimits(stored: StoredLimits | undefined, own: Declared): EffectiveLimits | undefined {
  const { override, groups } = stored ?? {}
  const declared = declaredOf(stored, own)
  if (!declared && !override && !groups) return undefined
  const group = { ...declared?.group, ...override?.limits.group }
  const isGrouped = declared?.group !== undefined || override?.limits.group !== undefined
  return {
    type: { ...declared, ...override?.limits, ...(isGrouped && { group }) },
    groups: new Map(Object.entries(groups ?? {}).map(([key, { limits }]) => [key, { ...group, ...limits }])),
  }
}

/** The stored ones: all processes agree on them. A process of a later release that has not stored its own yet uses those. */
function declaredOf(stored: StoredLimits | undefined, { limits, release }: Declared): LimitsOptions | undefined {
  const declared = stored?.declared
  if (!declared) return limits
  return limits && release > declared.release ? limits : declared.limits
}

/** The limits of a group. */
export function groupLimitsOf({ type, groups }: EffectiveLimits, key: string): GroupLimitsOptions {
  return groups.get(key) ?? type.group ?? {}
}

/** What a claim sends. Undefined: nothing that a claim has to keep, and then it costs what a claim without limits costs. */
export function claimLimits(effective: EffectiveLimits | undefined): Limits | undefined {
  if (!effective) return undefined
  const { concurrency, rate, group = {} } = effective.type
  const groups = [...effective.groups].map(([key, limits]) => [key, groupLimits(limits) ?? {}] as const)
  const ofGroups = { ...groupLimits(group), ...(group.fair === false && { fair: false }) }
  const limits: Limits = {
    ...finite('concurrency', concurrency),
    ...ofRate(rate),
    ...(Object.keys(ofGroups).length > 0 && { group: ofGroups }),
    ...(groups.length > 0 && { groups: recordOf(groups) }),
  }
  return Object.keys(limits).length === 0 ? undefined : limits
}

/** Without a prototype: a group may be called `constructor`, and one without limits of its own must find none. */
const recordOf = <T>(entries: readonly (readonly [key: string, value: T])[]): Record<string, T> =>
  Object.setPrototypeOf(Object.fromEntries(entries), null) as Record<string, T>

function groupLimits({ limit, rate }: GroupLimitsOptions): GroupLimits | undefined {
  const limits: GroupLimits = { ...finite('limit', limit), ...ofRate(rate) }
  return Object.keys(limits).length === 0 ? undefined : limits
}

const ofRate = (rate: RateOptions | undefined): { rate?: Rate } =>
  rate && rate.limit !== Infinity ? { rate: { limit: rate.limit, perMs: rate.perMs } } : {}

function finite<K extends string>(key: K, value: number | undefined): { [P in K]?: number } {
  return value === undefined || value === Infinity ? {} : ({ [key]: value } as { [P in K]?: number })
}
