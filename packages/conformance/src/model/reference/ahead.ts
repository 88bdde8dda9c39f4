// Claims ahead in the reference: what they may not take, and which lost leases cost no attempt.

import { aheadWorker } from 'holdfast/storage'
import type { Job, World } from '../reference.ts'
import { flowOf } from './limits.ts'

/** The longest lease of a job that was not started for certain, in ms. */
const longestMs = 2_000

const mark = aheadWorker('')

export const isAhead = (worker: string | undefined): boolean => worker?.endsWith(mark) ?? false

export const isUnstarted = ({ worker, startedAt, leaseUntil }: Job): boolean =>
  isAhead(worker) && leaseUntil - startedAt <= longestMs

/** Whether the job may only be claimed for a free slot. */
export const needsSlot = ({ deadlineAt, attempts }: Job): boolean =>
  deadlineAt !== Infinity || attempts.some(({ outcome, worker }) => outcome === 'stalled' && isAhead(worker))

/** Whether a claim ahead may find nothing of a type although a job is due: it has limits, has or had groups, or was slowed down. */
export const mayRefuse = (world: World, type: string): boolean =>
  world.limits.has(type) || world.grouped.has(type) || flowOf(world, type).slowedTo > 0
