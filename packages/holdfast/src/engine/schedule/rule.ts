// When a schedule fires: by a cron expression, or every so many ms. A slot is such an instant, in epoch ms.

import { invalidArgument } from '../../errors.ts'
import { cronInstants, type Instants } from './cron.ts'
import type { Schedule } from './schedule.ts'

type Rule = Pick<Schedule, 'cron' | 'everyMs' | 'timeZone'> & { readonly name?: string }

/** @throws TypeError INVALID_ARGUMENT also for a rule that never matches, HoldfastError MISSING_DEPENDENCY */
export async function instantsOf({ name, cron, everyMs, timeZone }: Rule): Promise<Instants> {
  if (cron === undefined) return everyInstants(everyMs!)
  const option = name === undefined ? 'cron' : `schedule '${name}': cron`
  const instants = await cronInstants(cron, timeZone, option)
  if (instants.next(0) === undefined) throw invalidArgument(option, 'a cron expression that matches some day', cron)
  return instants
}

/** Anchored to the epoch, so that every process counts the same instants. */
function everyInstants(everyMs: number): Instants {
  return {
    next: (afterMs) => (Math.floor(afterMs / everyMs) + 1) * everyMs,
    previous: (beforeMs) => (beforeMs > 0 ? (Math.ceil(beforeMs / everyMs) - 1) * everyMs : undefined),
  }
}

/** The shift of a schedule's jobs, the same in every process: 0 … jitterMs - 1. */
export function shiftOf(name: string, jitterMs: number): number {
  if (jitterMs === 0) return 0
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(name)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash % jitterMs
}
