// The life of a job as spans on one axis: waits, runs and pauses between them. Only the last 10 attempts are kept by a storage.

import type { JobPageData } from './api.ts'

export interface Span {
  readonly kind: 'waiting' | 'backoff' | 'running' | 'completed' | 'failed' | 'released'
  readonly from: number
  readonly to: number
  /** Number of the attempt. */
  readonly attempt?: number
  readonly workerId?: string
  readonly isOpen?: true
}

/** In order, without holes; the last one may be open. */
export function timelineOf(job: JobPageData, now: number): Span[] {
  const spans: Span[] = []
  let end = job.createdAt
  const waitUntil = (to: number, kind: Span['kind'], isOpen = false): void => {
    if (to > end) spans.push({ kind, from: end, to, ...(isOpen && { isOpen: true }) })
    end = Math.max(end, to)
  }
  for (const { attempt, startedAt, endedAt, outcome, workerId } of job.history) {
    waitUntil(startedAt, spans.length === 0 ? 'waiting' : 'backoff')
    const to = Math.max(endedAt, startedAt)
    spans.push({ kind: kindOf(outcome), from: startedAt, to, attempt, ...(workerId !== undefined && { workerId }) })
    end = Math.max(end, to)
  }
  const { state, startedAt, finishedAt, workerId } = job
  if (state === 'processing' && startedAt !== undefined) {
    waitUntil(startedAt, spans.length === 0 ? 'waiting' : 'backoff')
    spans.push({
      kind: 'running',
      from: startedAt,
      to: Math.max(now, startedAt),
      isOpen: true,
      ...(workerId !== undefined && { workerId }),
    })
  } else if (finishedAt === undefined) waitUntil(now, state === 'failing' ? 'backoff' : 'waiting', true)
  else waitUntil(finishedAt, 'waiting')
  return spans
}

function kindOf(outcome: JobPageData['history'][number]['outcome']): Span['kind'] {
  if (outcome === 'completed' || outcome === 'continued') return 'completed'
  return outcome === 'released' || outcome === 'cancelled' ? 'released' : 'failed'
}
