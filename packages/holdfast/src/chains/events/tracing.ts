// The spans of chains, around starts, continuations and attempts.

import type { GuardedStorage } from '../../engine/guard.ts'
import { installedTracing, type Span, type TraceContext } from '../../engine/tracing.ts'
import type { ClaimedJob, JobRef } from '../../storage/storage.ts'
import { decodeTrace } from '../job/carried.ts'
import { typeNameOf } from '../job/stored-type.ts'

/** Undefined: no telemetry is installed. */
export function producerSpan(ref: JobRef, chain: JobRef, parent: TraceContext | undefined): Span | undefined {
  return installedTracing()?.start(`send ${typeNameOf(ref.type)}`, {
    kind: 'producer',
    attributes: attributesOf(ref, chain),
    parent,
  })
}

/**
 * Runs an attempt in a span that continues its job's trace, with links to the job before it and to the chains that it
 * waited for.
 * @param errorOf the error of an attempt's end; undefined: it did not fail
 */
export async function inAttemptSpan<R>(
  storage: Pick<GuardedStorage, 'get'>,
  job: ClaimedJob,
  run: () => Promise<R>,
  errorOf: (end: R) => Error | undefined,
): Promise<R> {
  const tracing = installedTracing()
  if (!tracing) return run()
  const attributes = { ...attributesOf(job, job.chain), 'holdfast.attempt': job.attempt }
  const parent = decodeTrace(job.trace).traceContext
  const span = tracing.start(`process ${typeNameOf(job.type)}`, { kind: 'consumer', attributes, parent })
  // Beside the handler, which does not wait for the links.
  const linking = linkNeighbours(storage, job, span)
  const end = await span.run(run)
  void linking.then(() => span.end(errorOf(end)))
  return end
}

/** A part of an attempt. */
export async function inSpan<R>(name: string, run: () => Promise<R>): Promise<R> {
  const tracing = installedTracing()
  if (!tracing) return run()
  const span = tracing.start(name, { kind: 'internal' })
  try {
    const answer = await span.run(run)
    span.end()
    return answer
  } catch (error) {
    span.end(error)
    throw error
  }
}

/** Never rejects: a trace without a link is better than none. */
async function linkNeighbours(storage: Pick<GuardedStorage, 'get'>, job: ClaimedJob, span: Span): Promise<void> {
  const before = job.chainIndex > 0 && job.origin ? [job.origin] : []
  const refs = [...before, ...job.blockers].map(({ type, id }) => ({ type, id }))
  if (refs.length === 0) return
  try {
    for (const record of await storage.get(refs)) {
      const { traceContext } = decodeTrace(record?.trace)
      if (traceContext) span.link(traceContext)
    }
  } catch {
    // The guard of the storage tells its failures.
  }
}

const attributesOf = ({ type, id }: JobRef, chain: JobRef): Record<string, string> => ({
  'messaging.system': 'holdfast',
  'messaging.destination.name': typeNameOf(type),
  'messaging.message.id': id,
  'holdfast.chain.id': chain.id,
  'holdfast.chain.type': typeNameOf(chain.type),
})
