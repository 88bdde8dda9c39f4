// The spans of a Queue: `send <name>` for a call that adds jobs, `process <name>` for each attempt, whose trace the job carries.

import type { Draft } from '../engine/job/adder.ts'
import {
  decodeTraceContext,
  encodeTraceContext,
  installedTracing,
  type Span,
  type SpanAttributes,
  type Tracing,
} from '../engine/tracing.ts'
import type { AttemptEnd } from '../engine/work/outcomes.ts'
import type { ClaimedJob } from '../storage/storage.ts'

/** Begins the span of an add, and puts its trace into the jobs. Undefined: no telemetry is installed. */
export function sendSpan(name: string, jobs: readonly Draft[]): Span | undefined {
  const tracing = installedTracing()
  if (!tracing || jobs.length === 0) return undefined
  const about: SpanAttributes =
    jobs.length === 1 ? { 'messaging.message.id': jobs[0]!.id } : { 'messaging.batch.message_count': jobs.length }
  const span = tracing.start(`send ${name}`, { kind: 'producer', attributes: { ...shared(name), ...about } })
  const trace = encodeTraceContext(span.traceContext)
  if (trace !== undefined) for (const job of jobs) job.trace = trace
  return span
}

/** Ends the span with the call. */
export async function endWith<T>(span: Span, call: Promise<T>): Promise<T> {
  try {
    const answer = await call
    span.end()
    return answer
  } catch (error) {
    span.end(error)
    throw error
  }
}

/** @param run one attempt; never rejects */
export async function inAttemptSpan(
  tracing: Tracing,
  name: string,
  job: ClaimedJob,
  run: () => Promise<AttemptEnd>,
): Promise<AttemptEnd> {
  const attributes = { ...shared(name), 'messaging.message.id': job.id, 'holdfast.attempt': job.attempt }
  const parent = decodeTraceContext(job.trace)
  const span = tracing.start(`process ${name}`, { kind: 'consumer', attributes, parent })
  const end = await span.run(run)
  span.end(end.ending.kind === 'retry' || end.ending.kind === 'failed' ? (end.error ?? 'failed') : undefined)
  return end
}

const shared = (name: string): SpanAttributes => ({
  'messaging.system': 'holdfast',
  'messaging.destination.name': name,
})
