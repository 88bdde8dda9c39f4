// Adds jobs that only their ids decide about: nearly all of them.

import type { AddVerdict, NewJob } from '../storage.ts'
import type { JobType, Move } from './move.ts'
import { dueAt, waitingState } from './job/wait.ts'

/** True of a job that only its id decides about: nearly every job. */
export const isPlain = ({ blockers, deduplication, group, maxWaiting }: NewJob): boolean =>
  blockers === undefined && deduplication === undefined && group === undefined && maxWaiting === undefined

/** Adds jobs up to one whose id is taken: then the Decider decides. @returns how many were added */
export function addPlain(move: Move, jobs: readonly NewJob[], verdicts: AddVerdict[]): number {
  const { now } = move
  let last: JobType | undefined
  let isWatched = false
  for (let index = 0; index < jobs.length; index++) {
    const { type: name, id, token } = jobs[index]!
    const runAt = dueAt(move, jobs[index]!)
    const state = waitingState(move, runAt)
    const type = move.createWaiting(jobs[index]!, runAt, state)
    if (!type) return index
    // Once, not for each of its jobs: nearly every call has jobs of one type.
    if (type !== last) {
      last = type
      isWatched = move.hasListeners(type)
      move.wake(type)
    }
    if (isWatched) move.event({ type, id, lease: undefined }, state, 0)
    verdicts[index] = { verdict: 'added', job: { type: name, id, token, state, createdAt: now } }
  }
  return jobs.length
}
