// Limits in the reads: when a type could start a job (nextDueAt), and how much of its limits is used (count).

import type { ClaimType, GroupUse, Limits, LimitUse, Rate } from '../storage.ts'
import { type Flow, type GroupState, groupLimitsOf } from './flow.ts'
import { freesAt, type RateUse, usedOf } from './job/rate.ts'

/** What a driver reads of a type for nextDueAt. */
export interface FirstInstants {
  /** The first runAt of its line, or turnAt of its ring: whichever is earlier. Infinity: neither. */
  readonly waiting: number
  /** The first end of a lease of a job whose group is not paused. Infinity: none. */
  readonly leaseEnd: number
}

/**
 * The earliest instant at which a claim could start a job of the type. A past one is the same as now. Infinity: never.
 *
 * @param running number of its jobs in processing; only called if the type has a concurrency
 */
export function dueByLimits(
  { limits }: ClaimType,
  flow: Flow | undefined,
  { waiting, leaseEnd }: FirstInstants,
  running: () => number,
  now: number,
): number {
  const isFull = limits?.concurrency !== undefined && running() >= limits.concurrency
  const at = isFull ? leaseEnd : Math.min(waiting, leaseEnd)
  if (!flow) return at
  const rateFreeAt = limits?.rate ? freesAt(flow.rate, limits.rate, flow.nextWeight, now) : 0
  return Math.max(at, flow.slowedUntil, rateFreeAt)
}

/** The end of a slow-down of the type that is in force. */
export const slowedUntil = (flow: Flow | undefined, now: number): number | undefined =>
  flow && flow.slowedUntil > now ? flow.slowedUntil : undefined

/** The use of the limits of a type. @param running number of its jobs in processing @param weight of a start */
export function typeUse(limits: Limits, flow: Flow | undefined, running: number, now: number, weight = 1): LimitUse {
  const rateFreeAt = limits.rate ? freesAt(flow?.rate, limits.rate, Math.max(flow?.nextWeight ?? 1, weight), now) : now
  return useOf({ running, limit: limits.concurrency, rate: limits.rate, use: flow?.rate, rateFreeAt, now })
}

/** The use of the limits of a group, whether it is stored or not. @param weight of a start */
export function groupUse(limits: Limits, key: string, group: GroupState, now: number, weight = 1): GroupUse {
  const { limit, rate } = groupLimitsOf(limits, key)
  const { running, size, ordered, heldBy, rate: use } = group
  const rateFreeAt = rate ? Math.max(freesAt(use, rate, weight, now), group.rateFreeAt) : now
  return {
    group: key,
    waiting: size - running,
    ...useOf({ running, limit: ordered && size > 0 ? 1 : limit, rate, use, rateFreeAt, now }),
    ...(group.slowedUntil > now ? { slowedUntil: group.slowedUntil } : {}),
    ...(heldBy ? { heldBy: heldBy[0]! } : {}),
  }
}

interface Use {
  readonly running: number
  readonly limit: number | undefined
  readonly rate: Rate | undefined
  readonly use: RateUse | undefined
  readonly rateFreeAt: number
  readonly now: number
}

function useOf({ running, limit = Infinity, rate, use, rateFreeAt, now }: Use): LimitUse {
  const freeAt = running >= limit ? Infinity : rateFreeAt
  return {
    running,
    ...(rate ? { used: usedOf(use, rate, now) } : {}),
    ...(freeAt > now ? { freesAt: freeAt } : {}),
  }
}
