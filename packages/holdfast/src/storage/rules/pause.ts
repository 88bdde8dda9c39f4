// pause: pauses or resumes a type, or one group of it.

import type { PauseRequest } from '../storage.ts'
import type { JobType, Move } from './move.ts'
import { refreshGroup } from './job/wait.ts'

export function pause(move: Move, type: JobType, { group: key, paused, by }: PauseRequest): void {
  const target = key === undefined ? type : move.groupOf(type, key)
  // A second pause keeps the time and name of the first.
  if (paused) target.paused ??= { since: move.now, by }
  else target.paused = undefined
  if ('key' in target) refreshGroup(move, target)
  else if (!paused) move.wake(type)
}
