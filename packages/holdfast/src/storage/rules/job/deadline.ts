// Deadlines: a job that was not started in time ends instead of being run.

import type { Ended } from '../../storage.ts'
import type { Job, Move } from '../move.ts'
import { endedOf, finish } from './finish.ts'

/** The deadline of a job that waits for its first attempt is over. */
export const isOverdue = ({ now }: Move, { deadlineAt }: Job): boolean => deadlineAt !== undefined && deadlineAt <= now

/** @param ended takes the job, and those that fail with it */
export function endOverdue(move: Move, job: Job, ended: Ended[]): void {
  finish(move, job, { state: 'cancelled', reason: 'expired' }, { ended, unblocked: [] })
  ended.push(endedOf(job))
}
