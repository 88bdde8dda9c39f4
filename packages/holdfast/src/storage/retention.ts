// Retentions, and the one number that stands for nearly every one of them in a stored job.

import type { Retention } from './storage.ts'

const dayMs = 86_400_000

/** How long every face keeps failed and cancelled jobs, unless it is told. */
export const standardEnds = Object.freeze({ failedMs: 14 * dayMs, cancelledMs: dayMs })

/** @param completedMs how long completed jobs are kept: each face has its own time */
export const standardRetention = (completedMs: number): Retention => ({ completedMs, ...standardEnds })

/** The same time for every end state. */
export const evenRetention = (ms: number): Retention => ({ completedMs: ms, failedMs: ms, cancelledMs: ms })

/**
 * The number for a retention: 0 and more is the time after every end; -2 and less is -2 - completedMs, with the standard times
 * after the other ends. SQLite stores -1 for Infinity. Undefined: the retention has no number.
 */
export function retentionCode({ completedMs, failedMs, cancelledMs }: Retention): number | undefined {
  if (completedMs === failedMs && completedMs === cancelledMs) return completedMs
  const isStandard = failedMs === standardEnds.failedMs && cancelledMs === standardEnds.cancelledMs
  return isStandard && completedMs < Infinity ? -2 - completedMs : undefined
}

export const retentionOfCode = (code: number): Retention =>
  code < 0 ? standardRetention(-2 - code) : evenRetention(code)
