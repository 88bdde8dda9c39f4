// Reasons of a job in a group: another job of the group comes first, holds it, or takes the last place.

import { groupLimitsOf } from '../../../storage/rules/flow.ts'
import { isWaiting } from '../../../storage/rules/job/states.ts'
import type { JobRecord, NextOfGroup } from '../../../storage/storage.ts'
import type { Reason } from '../explanation.ts'
import type { Facts } from '../facts.ts'
import { clockTime, reason } from '../sentence.ts'

/** A job ahead in an ordered group stays ahead, whether this one is due or not. */
export function orderReasons(facts: Facts, record: JobRecord, group: NextOfGroup): Reason[] {
  const { now, ahead } = facts
  const { group: key, heldBy, ordered, job } = group
  if (heldBy !== undefined) {
    const failed = ahead?.finishedAt === undefined ? 'failed' : `failed at ${clockTime(ahead.finishedAt, now)}`
    const sentence = `group ${key} is held by job ${heldBy}, which ${failed}: retry or remove that job`
    return [reason('group_held', sentence, { group: key, heldBy, failedAt: ahead?.finishedAt })]
  }
  if (!ordered || job === undefined || job === record.id) return []
  const sentence = `waits for job ${job}, which is ahead of it in group ${key} and ${whatIt(ahead, now)}`
  return [reason('group_order', sentence, { group: key, head: job, state: ahead?.state })]
}

function whatIt(head: JobRecord | undefined, now: number): string {
  if (!head) return 'has not ended'
  if (head.state === 'processing') return `runs since ${clockTime(head.startedAt ?? now, now)}`
  if (!isWaiting(head.state)) return `is ${head.state}`
  return head.runAt > now ? `is due at ${clockTime(head.runAt, now)}` : 'has not started'
}

/** The group is at its limit, or left the ring at a lower one. */
export function busyReasons({ limits, holders, now }: Facts, group: NextOfGroup): Reason[] {
  const { group: key, running, ordered, turnAt, paused, heldBy } = group
  if (ordered) return []
  const { limit } = groupLimitsOf(limits, key)
  const isFull = limit !== undefined && running >= limit
  // A claim found it full under a lower limit: it starts the next job once one of its own ends.
  const isOut = turnAt === undefined && !paused && heldBy === undefined && running > 0
  if (!isFull && !isOut) return []
  const taken = isFull ? `${running} of ${limit}` : `${running}`
  const shown = holders.slice(0, 3).map(({ id, startedAt = now }) => `job ${id} since ${clockTime(startedAt, now)}`)
  const by = shown.length === 0 ? '' : ` by ${shown.join(', ')}${holders.length > shown.length ? ' and others' : ''}`
  const data = { group: key, running, limit, holders: holders.map(({ id, startedAt }) => ({ id, startedAt })) }
  return [reason('group_busy', `waits for group ${key}: ${taken} taken${by}`, data)]
}
