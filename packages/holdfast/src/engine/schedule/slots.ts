// Which slots are to be fired now. A pure function of the rule and the instants.

import type { Instants } from './cron.ts'
import type { Schedule } from './schedule.ts'

export interface DueSlots {
  /** Oldest first; at most 100. More may be due after the last of them. */
  readonly fire: readonly number[]
  /** Missed slots before the first of `fire` that are not fired; at most 100 are counted. */
  readonly skipped: number
}

/** A cron expression has no formula, and must be asked for each slot: a long downtime costs no more than this. */
const [mostAtOnce, countedSkips] = [100, 100]

/** @param from the last slot that was fired or passed @param now by the storage's clock */
export function dueSlots(
  instants: Instants,
  { catchUp, catchUpLimit, graceMs }: Pick<Schedule, 'catchUp' | 'catchUpLimit' | 'graceMs'>,
  from: number,
  now: number,
): DueSlots {
  const first = instants.next(from)
  if (first === undefined || first > now) return { fire: [], skipped: 0 }
  const missedBefore = now - graceMs
  const most = catchUp === 'all' ? catchUpLimit : catchUp === 'latest' ? 1 : 0
  const missed = first < missedBefore ? slotsBefore(instants, missedBefore, from, most + countedSkips) : []
  const fire = missed.slice(0, most).toReversed().slice(0, mostAtOnce)
  const onTime = Math.max(from, missedBefore - 1)
  for (let slot = instants.next(onTime); slot !== undefined && slot <= now; slot = instants.next(slot)) {
    if (fire.length === mostAtOnce) break
    fire.push(slot)
  }
  return { fire, skipped: Math.max(0, missed.length - most) }
}

/** The last slots before an instant, newest first. */
function slotsBefore(instants: Instants, before: number, from: number, most: number): number[] {
  const found: number[] = []
  for (let slot = instants.previous(before); slot !== undefined && slot > from; slot = instants.previous(slot)) {
    found.push(slot)
    if (found.length === most) break
  }
  return found
}
