// The state of a group as plain data, as a commit contains it.

import { emptyGroup, type GroupState } from '../../rules/flow.ts'

/** Without the numbers of members, which follow from the records of jobs: an add to a group that has its turn writes no group. */
export type GroupPart = Omit<GroupState, 'size' | 'running'>

export const emptyPart: GroupPart = partOf(emptyGroup)

function partOf(group: GroupState): GroupPart {
  return {
    ordered: group.ordered,
    turnAt: group.turnAt,
    turn: group.turn,
    isFull: group.isFull,
    paused: group.paused,
    heldBy: group.heldBy,
    slowedUntil: group.slowedUntil,
    rateFreeAt: group.rateFreeAt,
    rate: group.rate,
  }
}

/** With the numbers of members, for an undo. */
export const stateOf = (group: GroupState): GroupState => ({
  ...partOf(group),
  size: group.size,
  running: group.running,
})

/** Pauses, lists and rates never change in place. */
export function isSamePart(a: GroupPart, b: GroupPart): boolean {
  return (
    a.ordered === b.ordered &&
    a.turnAt === b.turnAt &&
    a.turn === b.turn &&
    a.isFull === b.isFull &&
    a.paused === b.paused &&
    a.heldBy === b.heldBy &&
    a.slowedUntil === b.slowedUntil &&
    a.rateFreeAt === b.rateFreeAt &&
    a.rate === b.rate
  )
}
