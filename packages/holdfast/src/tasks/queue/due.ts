// When a message becomes due: `delayMs` or `runAt`, checked and in the storage's terms.

import type { Clock } from '../../clock.ts'
import { invalidArgument } from '../../errors.ts'
import type { When } from '../../storage/storage.ts'
import type { DueOptions } from './message-queue.ts'

const atOnce: When = {}

/** @param options resolved: `delay` is under `delayMs` @throws TypeError INVALID_ARGUMENT */
export function dueOf({ delayMs, runAt }: DueOptions): When {
  if (delayMs !== undefined && runAt !== undefined) throw invalidArgument('delayMs', 'no runAt beside it', delayMs)
  if (delayMs !== undefined) return { delayMs }
  // Never early: a fraction of a millisecond counts as a whole one.
  return runAt === undefined ? atOnce : { runAt: Math.ceil(Number(runAt)) }
}

/** How long from now, in ms. Of an instant by this process's clock: close enough for a foreign queue or a window. */
export function delayMsOf({ delayMs, runAt }: When, clock: Clock): number | undefined {
  return runAt === undefined ? delayMs : Math.max(0, runAt - clock.now())
}

/** How long a deduplication key is taken: the TTL counts from the due time, so that a long delay admits no duplicate before it. */
export function windowMsOf(due: When, ttlMs: number, clock: Clock): number {
  return (delayMsOf(due, clock) ?? 0) + ttlMs
}
