// pause: a type, or one group of it, on or off.

import type { PauseRequest } from '../storage.ts'
import type { Move } from './move.ts'
import { groupOf, refreshGroup } from './waiting.ts'

export function pause(move: Move, { type: name, group: key, paused, by }: PauseRequest): void {
  const type = move.data.typeOf(name)
  const target = key === undefined ? type : groupOf(type, key)
  // Paused again: the first one's date and name stay.
  if (paused) target.paused ??= { since: move.now, by }
  else target.paused = undefined
  if ('members' in target) refreshGroup(move, target)
  else if (!paused) move.wake(type)
  move.data.prune(type)
}
