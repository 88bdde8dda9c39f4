// The schedule of a run: every worker fires it, and each slot has one job.

import type { QueueName } from './jobs.ts'

export const scheduleName = 'tick'

/** The queue that has it: its jobs count among those that its limits allow. */
export const scheduleQueue: QueueName = 'limited'

export const everyMs = 1_000

/** The slot of a job, by its id; undefined if no schedule added it. */
export function slotOf(id: string): number | undefined {
  const [name, instant] = id.split('@')
  return name === scheduleName && instant !== undefined ? Date.parse(instant) : undefined
}
