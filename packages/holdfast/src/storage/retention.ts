// A retention that is the same for every end state, as nearly every job has it.

import type { Retention } from './storage.ts'

export const evenRetention = (ms: number): Retention => ({ completedMs: ms, failedMs: ms, cancelledMs: ms })

export const isEven = ({ completedMs, failedMs, cancelledMs }: Retention): boolean =>
  completedMs === failedMs && completedMs === cancelledMs
