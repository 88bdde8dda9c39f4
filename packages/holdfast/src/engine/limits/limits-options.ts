// The limits of a type, on every face: declared in code (`limits`), or set by an operator (setLimits). One table of checks for both.

import { invalidArgument } from '../../errors.ts'
import { integer, isBoolean, oneOf, text, yearMs } from '../../option-checks.ts'
import { type Check, resolveNested, resolveOptions, type Table } from '../../resolve-options.ts'

/** A rate: in no interval of `perMs` do the jobs that start weigh more than `limit`. Every attempt counts, retries too. */
export interface RateOptions {
  /** Largest weight of the jobs that start in an interval; a job weighs 1, or its `weight`. Infinity: any. Required. */
  readonly limit: number
  /** Length of the interval, in ms. Required. */
  readonly perMs: number
}

/** Limits of each group of a type. */
export interface GroupLimitsOptions {
  /** Most jobs of a group that run at a time, in all processes. An ordered group runs one, whatever this says. Infinity: any number. */
  readonly limit?: number | undefined
  /** Rate of each group. */
  readonly rate?: RateOptions | undefined
  /** Most jobs of a group that wait. A further one is refused with QUEUE_FULL. Infinity: any number. */
  readonly maxWaiting?: number | undefined
  /**
   * What a failed job does to its ordered group, unless the job sets it itself. `continue`: the next one runs. `hold`: the group waits
   * until the failed job is retried, replaced, removed, or its record expires. @default 'continue'
   */
  readonly onFailure?: 'continue' | 'hold' | undefined
  /** Groups take turns, one job each; jobs without a group are one more group. False: priority and age decide across groups. @default true */
  readonly fair?: boolean | undefined
}

/** Limits of a type, over all processes. */
export interface LimitsOptions {
  /** Most jobs of the type that run at a time, in all processes. A dead worker's job counts until its lease ends. Infinity: any number. */
  readonly concurrency?: number | undefined
  /** Rate of the type. */
  readonly rate?: RateOptions | undefined
  /** Most jobs of the type that wait. A further one is refused with QUEUE_FULL. Infinity: any number. */
  readonly maxWaiting?: number | undefined
  /** Limits of each group. */
  readonly group?: GroupLimitsOptions | undefined
}

/** Limits of one group that an operator sets: over those of every group. A null removes what was set before. */
export interface GroupLimitsPatch {
  /** Most jobs of the group that run at a time. Infinity: any number. */
  readonly limit?: number | null | undefined
  /** Rate of the group. */
  readonly rate?: RateOptions | null | undefined
  /** Most jobs of the group that wait. Infinity: any number. */
  readonly maxWaiting?: number | null | undefined
  /** What a failed job does to its ordered group. */
  readonly onFailure?: 'continue' | 'hold' | null | undefined
}

/** Limits that an operator sets: over those of the code, field by field. A null removes what was set before. */
export interface LimitsPatch {
  /** Most jobs of the type that run at a time. Infinity: any number. */
  readonly concurrency?: number | null | undefined
  /** Rate of the type. */
  readonly rate?: RateOptions | null | undefined
  /** Most jobs of the type that wait. Infinity: any number. */
  readonly maxWaiting?: number | null | undefined
  /** Limits of each group. */
  readonly group?: (GroupLimitsPatch & { readonly fair?: boolean | null | undefined }) | null | undefined
}

/** A storage counts in safe integers. */
const count: Check = (name, value) => {
  const isCount = value === Infinity || (Number.isSafeInteger(value) && (value as number) >= 1)
  if (!isCount) throw invalidArgument(name, 'an integer >= 1, or Infinity', value)
}

export const rateOptions = {
  limit: { check: count },
  perMs: { check: integer(1, yearMs) },
} as const satisfies Table

const oneGroupOptions = {
  limit: { check: count },
  rate: { check: isRate },
  maxWaiting: { check: count },
  onFailure: { default: 'continue', check: oneOf('continue', 'hold') },
} as const satisfies Table

export const groupLimitsOptions = {
  ...oneGroupOptions,
  fair: { default: true, check: isBoolean },
} as const satisfies Table

export const limitsOptions = {
  concurrency: { check: count },
  rate: { check: isRate },
  maxWaiting: { check: count },
  group: { check: (name, value) => void resolveNested(name, value as object, groupLimitsOptions) },
} as const satisfies Table

const groupLimitsPatch = orNull(oneGroupOptions)
const limitsPatch = {
  ...orNull(limitsOptions),
  group: {
    check: (name: string, value: unknown) => {
      if (value !== null) resolveNested(name, value as object, orNull(groupLimitsOptions))
    },
  },
} as const satisfies Table

/** The same options; each may be null, and none has a default. */
function orNull(table: Table): Table {
  const rows = Object.entries(table).map(([key, { check }]) => [
    key,
    { check: (name: string, value: unknown) => void (value === null || check(name, value)) },
  ])
  return Object.fromEntries(rows) as Table
}

/** For the table of a face. The rows are resolved by resolveLimits(). @throws TypeError INVALID_ARGUMENT */
export function isLimits(name: string, value: unknown): void {
  resolveNested(name, value as object, limitsOptions)
}

/** The declared limits, complete. @throws TypeError INVALID_ARGUMENT */
export function resolveLimits(given: LimitsOptions): LimitsOptions {
  const { group, ...rest } = resolveNested('limits', given, limitsOptions)
  return group === undefined ? rest : { ...rest, group: resolveNested('limits.group', group, groupLimitsOptions) }
}

/** @throws TypeError INVALID_ARGUMENT */
export function resolvePatch(given: LimitsPatch): LimitsPatch {
  return resolveOptions('setLimits', given, limitsPatch as Table) as LimitsPatch
}

/** @throws TypeError INVALID_ARGUMENT */
export function resolveGroupPatch(given: GroupLimitsPatch): GroupLimitsPatch {
  return resolveOptions('setLimits', given, groupLimitsPatch) as GroupLimitsPatch
}

/** Options of setLimits(). */
export interface SetLimitsOptions {
  /** Key of a group: the patch is for this group alone. @default the whole type */
  readonly group?: string | undefined
  /** Name of the operator, which limits() shows. @default none */
  readonly by?: string | undefined
}

export const setLimitsOptions = {
  group: { check: text(512) },
  by: { check: text(256) },
} as const satisfies Table

function isRate(name: string, value: unknown): void {
  const { limit, perMs } = resolveNested(name, value as Partial<RateOptions>, rateOptions)
  if (limit === undefined) throw invalidArgument(`${name}.limit`, 'an integer >= 1, or Infinity', limit)
  if (perMs === undefined) throw invalidArgument(`${name}.perMs`, 'a number of ms', perMs)
}
