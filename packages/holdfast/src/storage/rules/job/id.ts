// Ids: whether an add may take one that a job has.

import type { NewJob } from '../../storage.ts'
import { isGone, type Job, type Move } from '../move.ts'
import { isWaiting } from './states.ts'

/** True if a job of this id may be added: the id is unused, or its chain failed or was cancelled. */
export function isFree(move: Move, job: Job | undefined): boolean {
  if (!job || isGone(move, job)) return true
  const { chain } = job
  const { state } = chain.tail
  if (state !== 'failed' && state !== 'cancelled') return false
  // Dependents of a chain keep waiting for a chain of its name, so its tail alone cannot be replaced.
  return job === chain || (job === chain.tail && !chain.dependents?.size)
}

/** True if the new job takes the place of a waiting one. A job that is part of a longer chain cannot be replaced. */
export const isReplaced = ({ onDuplicate }: NewJob, existing: Job): boolean =>
  onDuplicate === 'replace' && isWaiting(existing.state) && existing === existing.chain && existing === existing.tail
