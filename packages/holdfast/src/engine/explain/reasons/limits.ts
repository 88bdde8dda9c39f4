// Reasons that limits give: of the type, and of the rate of a group.

import { groupLimitsOf } from '../../../storage/rules/flow.ts'
import type { JobRecord, LimitUse, NextStart, Rate } from '../../../storage/storage.ts'
import type { Reason } from '../explanation.ts'
import type { Facts } from '../facts.ts'
import { clockTime, reason, typeText } from '../sentence.ts'

export function limitReasons(facts: Facts, record: JobRecord, next: NextStart): Reason[] {
  const { limits, ref } = facts
  const { group } = next
  const found: Reason[] = []
  const { concurrency } = limits
  if (concurrency !== undefined && next.running >= concurrency) {
    const sentence = `${typeText(ref.type)} runs ${next.running} of ${concurrency} jobs: the next one starts when one of them ends`
    found.push(reason('concurrency_full', sentence, { running: next.running, limit: concurrency }))
  }
  found.push(...slowed(facts, typeText(ref.type), next.slowedUntil))
  if (group) found.push(...slowed(facts, `group ${group.group}`, group.slowedUntil, group.group))
  const isFull = concurrency !== undefined && next.running >= concurrency
  if (limits.rate && !isFull) found.push(...rated(facts, record, typeText(ref.type), limits.rate, next))
  if (group) found.push(...groupRate(facts, record, group))
  return found
}

function slowed({ now }: Facts, what: string, until: number | undefined, group?: string): Reason[] {
  if (until === undefined) return []
  const sentence = `${what} was told to slow down: nothing of it starts before ${clockTime(until, now)}`
  return [reason('slowed_down', sentence, { until, group })]
}

/** Infinity: it waits for a running job, which another reason says. */
function groupRate(facts: Facts, record: JobRecord, group: NonNullable<NextStart['group']>): Reason[] {
  const { limits, now } = facts
  const { rate } = groupLimitsOf(limits, group.group)
  const found =
    rate && group.freesAt !== Infinity ? rated(facts, record, `group ${group.group}`, rate, group, group.group) : []
  if (found.length > 0 || rate || group.turnAt === undefined || group.turnAt <= now) return found
  if (group.slowedUntil !== undefined || (group.ordered && group.job !== record.id)) return found
  // Its turn was set under a rate that an operator has removed since.
  const sentence = `group ${group.group} had a rate, and starts nothing before ${clockTime(group.turnAt, now)}`
  return record.runAt >= group.turnAt
    ? []
    : [reason('rate_limited', sentence, { until: group.turnAt, group: group.group })]
}

function rated(
  { now }: Facts,
  { weight = 1 }: JobRecord,
  what: string,
  { limit, perMs }: Rate,
  { used = 0, freesAt }: LimitUse,
  group?: string,
): Reason[] {
  if (freesAt === undefined) return []
  const ofWeight = weight === 1 ? '' : ` of weight ${weight}`
  const sentence = `the rate of ${what} is used up: ${used} of ${limit} in ${perMs} ms; a start${ofWeight} is possible at ${clockTime(freesAt, now)}`
  return [reason('rate_limited', sentence, { until: freesAt, used, limit, perMs, weight, group })]
}
