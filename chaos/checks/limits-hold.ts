// At no instant do more jobs of a type, or of a group, run with a live lease than its limit says; of an ordered group, one. (S15, S16)

import { type Held, heldRuns, overLimit } from '../held.ts'
import { type History, type Violation, violation } from '../history.ts'
import { limitsOf } from '../limits.ts'

const { concurrency, group } = limitsOf.limited

export function limitsHold(history: History): Violation[] {
  const runs = heldRuns(history)
  const limited = runs.filter(({ job }) => job.type === 'limited')
  const inGroups = runs.filter(({ job }) => job.group !== undefined && (job.ordered || job.type === 'limited'))
  const groups = [...Map.groupBy(inGroups, ({ job }) => job.group!)]
  return [
    ...exceeded('limited', limited, concurrency),
    ...groups.flatMap(([key, members]) => exceeded(key, members, members[0]!.job.ordered ? 1 : group.limit)),
  ]
}

function exceeded(what: string, runs: readonly Held[], limit: number): Violation[] {
  const held = overLimit(runs, limit)
  if (!held) return []
  const ids = held.map(({ job }) => job.id).join(', ')
  const entries = held.flatMap(({ job }) => job.entries).toSorted((one, other) => one.at - other.at)
  return [violation('limits', `${what}: ${held.length} runs at once, limit ${limit}: ${ids}`, undefined, entries)]
}
