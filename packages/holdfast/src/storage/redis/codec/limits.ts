// Limits as the scripts take them (lua/claim/limits.ts): concurrency, rate, fair, limits of every group, and limits by group.

import type { GroupLimits, Limits, Rate } from '../../storage.ts'
import type { Packed } from './pack.ts'

export function packLimits(limits: Limits | undefined): Packed {
  if (!limits) return undefined
  const { concurrency, rate, group, groups } = limits
  const each = groups && Object.entries(groups).flatMap(([key, own]) => [key, packGroup(own)])
  return [concurrency, packRate(rate), group?.fair !== false, packGroup(group), each]
}

const packRate = (rate: Rate | undefined): Packed => rate && [rate.limit, rate.perMs]

const packGroup = (limits: GroupLimits | undefined): Packed => limits && [limits.limit, packRate(limits.rate)]
