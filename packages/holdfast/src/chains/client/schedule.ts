// When a job is to run, as the storage is told.

import type { TraceContext } from '../types/records.ts'
import type { Schedule } from '../types/start-options.ts'
import type { ClaimedJob, When } from '../../storage/storage.ts'

export function whenOf(schedule: Schedule | undefined): When {
  if (schedule === undefined) return {}
  if (schedule.afterMs !== undefined) return { delayMs: schedule.afterMs }
  // Never early: a fraction of a millisecond counts as a whole one.
  return { runAt: Math.ceil(Number(schedule.at)) }
}

/** What goes with a job through its chain, opaque to the storage: its trace, and of a continuation when its chain began. */
interface Carried extends Partial<TraceContext> {
  readonly chainAt?: number
}

export function encodeTrace(trace: TraceContext | undefined, chainAt?: number): string | undefined {
  if (!trace && chainAt === undefined) return undefined
  return JSON.stringify({ ...trace, chainAt } satisfies Carried)
}

export function decodeTrace(trace: string | undefined): { traceContext?: TraceContext } {
  const { traceparent, tracestate } = carriedBy(trace)
  if (traceparent === undefined) return {}
  return { traceContext: tracestate === undefined ? { traceparent } : { traceparent, tracestate } }
}

/** When the first job of the chain was created, by the storage's clock. Undefined: not known. */
export function chainStartOf(job: Pick<ClaimedJob, 'chainIndex' | 'createdAt' | 'trace'>): number | undefined {
  return job.chainIndex === 0 ? job.createdAt : carriedBy(job.trace).chainAt
}

const carriedBy = (trace: string | undefined): Carried => (trace === undefined ? {} : (JSON.parse(trace) as Carried))
