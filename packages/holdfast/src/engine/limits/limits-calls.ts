// What operators do with limits, for a Queue and for the admin handle: read them with their use, set them, and remove what was set.

import type { Clock } from '../../clock.ts'
import { checkText, isList } from '../../option-checks.ts'
import { resolveOptions, type Table } from '../../resolve-options.ts'
import type { GroupUse, LimitUse, TypeCounts } from '../../storage/storage.ts'
import { parseType } from '../../storage/stored-type.ts'
import type { GuardedStorage } from '../guard.ts'
import { StorageTime } from '../schedule/storage-time.ts'
import { claimLimits, effectiveLimits, groupLimitsOf } from './effective-limits.ts'
import {
  type GroupLimitsOptions,
  type GroupLimitsPatch,
  type LimitsOptions,
  type LimitsPatch,
  resolveGroupPatch,
  resolvePatch,
} from './limits-options.ts'
import { overrideLimits, readLimits, readLimitsOf } from './limits-store.ts'
import type { LimitsOverride, StoredLimits } from './stored-limits.ts'

/** How much of the limits is used. Instants are epoch ms, by the storage's clock. */
export interface LimitsUse {
  /** Jobs that run now, in all processes. */
  readonly running: number
  /** Jobs that wait: due or not, for a retry, or for other chains. */
  readonly waiting: number
  /** Weight of the jobs that started in the interval of the rate that ends now. Absent without a rate. */
  readonly used?: number
  /** When a job of weight 1 can start. Infinity: only once a running job ends. Absent: now. */
  readonly freesAt?: number
  /** Until when none starts because a handler was told to slow down (rateLimited). */
  readonly slowedUntil?: number
}

/** The limits of one group. */
export interface GroupLimitsInfo {
  readonly group: string
  /** What an operator set for this group, when, and who. Absent: nothing. */
  readonly override?: LimitsOverride<GroupLimitsOptions>
  /** The limits in force. */
  readonly effective: GroupLimitsOptions
  readonly use: LimitsUse & {
    /** Id of the failed job that holds the ordered group (`onFailure: 'hold'`). */
    readonly heldBy?: string
  }
}

/** The limits of a type: what limits() returns. */
export interface LimitsInfo {
  /** What code declares, and the release of that code. Absent: nothing. */
  readonly declared?: { readonly limits: LimitsOptions; readonly release: number }
  /** What an operator set over it, when, and who. Absent: nothing. */
  readonly override?: LimitsOverride<LimitsOptions>
  /** The limits in force: the override over what is declared. Workers apply a change promptly, and within 5 s if a hint is lost. */
  readonly effective: LimitsOptions
  readonly use: LimitsUse
  /** The groups that an operator set limits for, and those that were asked for. */
  readonly groups: readonly GroupLimitsInfo[]
}

/** Options of limits(). */
export interface ReadLimitsOptions {
  /** Keys of groups to show, too, whether they have limits of their own or not. @default none */
  readonly groups?: readonly string[] | undefined
}

export const readLimitsOptions = {
  groups: {
    check: (name, value) => {
      isList(name, value)
      for (const key of value as unknown[]) checkText(name, key, 512)
    },
  },
} as const satisfies Table

interface LimitsTarget {
  readonly type: string
  /** Keys of groups to show, too. */
  readonly groups: readonly string[]
  /** What was counted before. */
  readonly counts?: CountsOfType | undefined
}

type CountsOfType = Pick<TypeCounts, 'states' | 'slowedUntil'>

interface CallsOptions {
  readonly storage: GuardedStorage
  readonly clock: Clock
  whenConnected<T>(call: () => Promise<T>): Promise<T>
  log(message: string, data: object): void
}

export class LimitsCalls {
  readonly #options: CallsOptions
  readonly #time: StorageTime

  constructor(options: CallsOptions) {
    this.#options = options
    this.#time = new StorageTime(options.storage, options.clock)
  }

  /** @param own what the code of this process declares: it may not be stored yet */
  async get(
    type: string,
    options: ReadLimitsOptions | undefined,
    own: { readonly limits?: LimitsOptions | undefined; readonly release: number },
  ): Promise<LimitsInfo> {
    const { groups = [] } = resolveOptions('limits', options, readLimitsOptions)
    const { storage, whenConnected } = this.#options
    const stored = await whenConnected(() => readLimitsOf(storage, type))
    return this.#info({ type, groups }, stored, own)
  }

  /**
   * The limits of many types. What is stored of all of them is read in one call, and so are the counts of those that are given without.
   * A type with limits that have a use, or with groups that were asked for, costs a call of its own.
   */
  async getMany(targets: readonly LimitsTarget[]): Promise<LimitsInfo[]> {
    if (targets.length === 0) return []
    const { storage, whenConnected } = this.#options
    const wanted = new Set(targets.map(({ type }) => type))
    const uncounted = targets.flatMap(({ type, counts }) => (counts ? [] : [type]))
    const [stored, { types }] = await whenConnected(() =>
      Promise.all([
        readLimits(storage, (type) => wanted.has(type)),
        uncounted.length > 0 ? storage.count({ types: uncounted }) : { types: [] },
      ]),
    )
    const counted = new Map(types.map((counts) => [counts.type, counts]))
    const own = { release: 0 }
    return Promise.all(
      targets.map(({ counts, ...target }) =>
        this.#info(target, stored.get(target.type), own, counts ?? counted.get(target.type)),
      ),
    )
  }

  /** @param counts without a use of limits: enough for a type that has none */
  async #info(
    { type, groups: asked }: Omit<LimitsTarget, 'counts'>,
    stored: StoredLimits | undefined,
    own: { readonly limits?: LimitsOptions | undefined; readonly release: number },
    counts?: CountsOfType,
  ): Promise<LimitsInfo> {
    const { storage, whenConnected } = this.#options
    const declared = stored?.declared ?? (own.limits && { limits: own.limits, release: own.release })
    const effective = effectiveLimits(stored, { limits: own.limits, release: own.release }) ?? none
    const groups = [...new Set([...effective.groups.keys(), ...asked])]
    const limits = claimLimits(effective)
    const use = async (): Promise<(CountsOfType & Partial<TypeCounts>) | undefined> => {
      if (counts && !limits && groups.length === 0) return { ...counts, limits: { running: counts.states.processing } }
      const query = { type, limits: limits ?? {}, groups }
      const { types } = await whenConnected(() => storage.count({ types: [type], limits: query }))
      return types.find((found) => found.type === type)
    }
    const used = await use()
    return {
      ...(declared && { declared }),
      ...(stored?.override && { override: stored.override }),
      effective: effective.type,
      use: typeUse(used),
      groups: groups.map((group) => {
        const override = stored?.groups && Object.hasOwn(stored.groups, group) ? stored.groups[group] : undefined
        const ofGroup = groupUse(used?.groups?.find((found) => found.group === group))
        return { group, ...(override && { override }), effective: groupLimitsOf(effective, group), use: ofGroup }
      }),
    }
  }

  /** @param patch null: removes all that operators set @throws TypeError INVALID_ARGUMENT */
  async set(
    type: string,
    patch: LimitsPatch | GroupLimitsPatch | null,
    { group, by }: { readonly group?: string | undefined; readonly by?: string | undefined },
  ): Promise<void> {
    const { storage, whenConnected, log } = this.#options
    const resolved = patch && (group === undefined ? resolvePatch(patch as LimitsPatch) : resolveGroupPatch(patch))
    await whenConnected(() => overrideLimits(storage, type, resolved, { group, by, time: this.#time }))
    const { face, name } = parseType(type)
    const what = group === undefined ? `${face} '${name}'` : `group '${group}' of ${face} '${name}'`
    const data = { face, name, group, by, ...(resolved && { limits: resolved }) }
    log(resolved ? `set limits of ${what}` : `removed the limits that were set of ${what}`, data)
  }
}

const none = { type: {}, groups: new Map<string, GroupLimitsOptions>() }

function typeUse(counts: (CountsOfType & Pick<TypeCounts, 'limits'>) | undefined): LimitsUse {
  const { states, limits, slowedUntil } = counts ?? {}
  const waiting = states ? states.scheduled + states.queued + states.failing + states.blocked : 0
  return { ...useOf(limits), waiting, ...(slowedUntil !== undefined && { slowedUntil }) }
}

function groupUse(found: GroupUse | undefined): GroupLimitsInfo['use'] {
  const { waiting = 0, slowedUntil, heldBy } = found ?? {}
  return {
    ...useOf(found),
    waiting,
    ...(slowedUntil !== undefined && { slowedUntil }),
    ...(heldBy !== undefined && { heldBy }),
  }
}

function useOf(found: LimitUse | undefined): Pick<LimitsUse, 'running' | 'used' | 'freesAt'> {
  const { running = 0, used, freesAt } = found ?? {}
  return { running, ...(used !== undefined && { used }), ...(freesAt !== undefined && { freesAt }) }
}
