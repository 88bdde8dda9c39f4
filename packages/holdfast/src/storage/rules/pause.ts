// pause: pauses or resumes a type, or one group of it.

import type { Paused, PauseRequest } from '../storage.ts'
import type { JobType, Move } from './move.ts'
import { refreshGroup } from './job/wait.ts'

export function pause(move: Move, type: JobType, request: PauseRequest): void {
  const { group: key, paused } = request
  if (key === undefined) {
    type.paused = pausedAfter(type.paused, request, move.now)
    if (!paused) move.wake(type)
    return
  }
  const group = move.groupOf(type, key)
  move.changeGroup(group, { paused: pausedAfter(group.paused, request, move.now) })
  refreshGroup(move, group)
}

/**
 * A second pause keeps the time and name of the first. But the pause of a package of this project ends by itself: an operator's replaces
 * it, so that it does not end with it, and the package ends its own only.
 */
function pausedAfter(before: Paused | undefined, { paused, by }: PauseRequest, now: number): Paused | undefined {
  if (!before) return paused ? { since: now, by } : undefined
  if (paused) return isPackage(before.by) && !isPackage(by) ? { since: now, by } : before
  return isPackage(by) && by !== before.by ? before : undefined
}

const isPackage = (by: string | undefined): boolean => by !== undefined && by.startsWith('@holdfast/')
