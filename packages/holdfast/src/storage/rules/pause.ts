// pause: pauses or resumes a type, or one group of it.

import type { Paused, PauseRequest } from '../storage.ts'
import type { JobType, Move } from './move.ts'
import { refreshGroup } from './job/wait.ts'

export function pause(move: Move, type: JobType, { group: key, paused, by }: PauseRequest): void {
  // A second pause keeps the time and name of the first.
  const after = (before: Paused | undefined): Paused | undefined =>
    paused ? (before ?? { since: move.now, by }) : undefined
  if (key === undefined) {
    type.paused = after(type.paused)
    if (!paused) move.wake(type)
    return
  }
  const group = move.groupOf(type, key)
  move.changeGroup(group, { paused: after(group.paused) })
  refreshGroup(move, group)
}
