// What goes with a job through its chain: its trace context and, for a continuation, when its chain began. The storage keeps it as
// text and does not read it.

import type { ClaimedJob } from '../../storage/storage.ts'
import { decodeTraceContext, type TraceContext } from '../../engine/tracing.ts'

interface Carried extends Partial<TraceContext> {
  readonly chainAt?: number
}

export function encodeTrace(trace: TraceContext | undefined, chainAt?: number): string | undefined {
  if (!trace && chainAt === undefined) return undefined
  return JSON.stringify({ ...trace, chainAt } satisfies Carried)
}

export function decodeTrace(trace: string | undefined): { traceContext?: TraceContext } {
  const traceContext = decodeTraceContext(trace)
  return traceContext ? { traceContext } : {}
}

/** When the first job of the chain was created, by the storage's clock. Undefined: not known. */
export function chainStartOf(job: Pick<ClaimedJob, 'chainIndex' | 'createdAt' | 'trace'>): number | undefined {
  return job.chainIndex === 0 ? job.createdAt : carriedBy(job.trace).chainAt
}

const carriedBy = (trace: string | undefined): Carried => (trace === undefined ? {} : (JSON.parse(trace) as Carried))
