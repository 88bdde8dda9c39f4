// How long an ended job is kept, where it is the same for every end: as for nearly every job.

import type { Retention } from './storage.ts'

export const evenRetention = (ms: number): Retention => ({ completedMs: ms, failedMs: ms, cancelledMs: ms })

export const isEven = ({ completedMs, failedMs, cancelledMs }: Retention): boolean =>
  completedMs === failedMs && completedMs === cancelledMs
