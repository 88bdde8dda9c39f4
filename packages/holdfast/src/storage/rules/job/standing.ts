// The answer of an add about an existing or added job: with the state and result of the chain that it begins.

import type { Standing } from '../../storage.ts'
import { stateOf } from '../get.ts'
import { isGone, type Job, type JobType, type Mark, type Move } from '../move.ts'

export function standingOf(move: Move, job: Job): Standing {
  const last = job === job.chain ? job.tail : job
  const state = stateOf(move, last)
  const { type, id, token, createdAt } = job
  return { type: type.name, id, token, state, createdAt, result: state === 'completed' ? last.result : undefined }
}

/** The holder of a key. If its record is gone, it has completed. */
export function standingOfMark(move: Move, type: JobType, mark: Mark): Standing {
  const { job, id, token } = mark
  return job && !isGone(move, job) ? standingOf(move, job) : { type: type.name, id, token, state: 'completed' }
}
