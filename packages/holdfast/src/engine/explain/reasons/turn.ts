// Nothing keeps the job from a start but its turn: others come before it, or it is next.
// Invariant: a job is `ready` only if the next claim of its type starts it. All else is `behind`.

import type { JobRecord, NextStart } from '../../../storage/storage.ts'
import type { Reason } from '../explanation.ts'
import type { Facts } from '../facts.ts'
import { reason, typeText } from '../sentence.ts'

export function turnReason({ now, ref }: Facts, record: JobRecord, next: NextStart): Reason {
  const { turn, group, line, leaseEnd = Infinity, due } = next
  const first = record.group === undefined ? line : group?.job
  const isFirst = first === record.id
  const isTurn = turn !== undefined && turn.group === record.group
  if (isFirst && isTurn && leaseEnd > now) return reason('ready', 'is next: the next claim of a worker starts it')
  const about = due === undefined || due < 2 ? 'others are' : `up to ${due - 1} are`
  const where = record.group === undefined ? typeText(ref.type) : `group ${record.group}`
  const who =
    !isFirst && first !== undefined
      ? `job ${first} is the next of ${where}`
      : leaseEnd <= now
        ? 'a job whose lease was lost is taken back first'
        : turn === undefined
          ? 'priority and age decide between groups'
          : turn.group === undefined
            ? 'it is the turn of the jobs without a group'
            : `it is the turn of group ${turn.group}`
  const data = { next: isFirst ? undefined : first, turn: isTurn ? undefined : turn?.group, atMost: due && due - 1 }
  return reason('behind', `${about} ahead of it: ${who}`, data)
}
