// When a job is to run, as the storage is told.

import type { TraceContext } from './records.ts'
import type { Schedule } from './starting.ts'
import type { When } from '../storage/storage.ts'

export function whenOf(schedule: Schedule | undefined): When {
  if (schedule === undefined) return {}
  if (schedule.afterMs !== undefined) return { delayMs: schedule.afterMs }
  // Never early: a fraction of a millisecond counts as a whole one.
  return { runAt: Math.ceil(Number(schedule.at)) }
}

/** Opaque to the storage. */
export const encodeTrace = (trace: TraceContext): string => JSON.stringify(trace)

export function decodeTrace(trace: string | undefined): { traceContext?: TraceContext } {
  return trace === undefined ? {} : { traceContext: JSON.parse(trace) as TraceContext }
}
