// Groups of a type that have a job to claim take turns: the next job of each waits for at most one start of every other group. (F24)

import { addOf, type ClaimEntry, claimsOf } from '../claims.ts'
import { attemptOf, type Entry } from '../entries.ts'
import { type History, type JobHistory, type Violation, violation } from '../history.ts'
import { slowDownMs, tenantKeys } from '../limits.ts'

/** The jobs without a group are one more. */
const groups = tenantKeys.length + 1

interface Span {
  readonly from: number
  readonly to: number
}

/** A job that waited in a group of which nothing ran, with the starts of other groups meanwhile. */
export interface Turn {
  readonly job: JobHistory
  readonly others: number
  readonly claims: readonly ClaimEntry[]
}

export function groupsTakeTurns(history: History): Violation[] {
  return turnsOf(history).flatMap(({ job, others, claims }): Violation[] => {
    if (others < groups) return []
    const sentence = `${job.id} of ${job.group} waited for ${others} starts of ${groups - 1} other groups`
    return [violation('turns', sentence, job, claims)]
  })
}

export function turnsOf(history: History): Turn[] {
  const claims = claimsOf(history).filter(({ type }) => type === 'limited')
  const jobs = history.jobs.filter(({ type }) => type === 'limited')
  const groupOf = new Map(jobs.map(({ id, group }) => [id, group]))
  return [...Map.groupBy(jobs, ({ group }) => group)].flatMap(([group, members]): Turn[] => {
    if (group === undefined) return []
    const busy = members.flatMap((job) => busySpans(job, claims))
    return members.flatMap((job): Turn[] => {
      const [add, claim] = [addOf(job), claims.find(({ runs }) => runs.some(({ id }) => id === job.id))]
      const isFirst = claim?.runs.some(({ id, fence }) => id === job.id && attemptOf(fence) === 1)
      if (!add || !claim || !isFirst) return []
      const wait = { from: add.ackedAt, to: claim.sentAt }
      // While jobs of the group run, its limit may keep the others.
      if (busy.some(({ from, to }) => from < wait.to && to > wait.from)) return []
      const meanwhile = claims.filter(({ sentAt, at }) => sentAt > wait.from && at < wait.to)
      const others = meanwhile.flatMap(({ runs }) => runs.filter(({ id }) => groupOf.get(id) !== group))
      return [{ job, others: others.length, claims: meanwhile }]
    })
  })
}

/** The times at which the job may have had a lease, or its group may have been slowed down: at least as long as they were. */
function busySpans({ id, entries, record }: JobHistory, claims: readonly ClaimEntry[]): Span[] {
  const seen = claims.flatMap((claim) => {
    const run = claim.runs.find((one) => one.id === id)
    return run ? [{ claim, fence: run.fence }] : []
  })
  const runs = seen.map(({ claim, fence }, index): Span => {
    const next = seen[index + 1]
    const isSettled = (entry: Entry): boolean => entry.what === 'settled' && entry.fence === fence
    const settledAt = entries.find((entry) => isSettled(entry))?.at
    const isNextSeen = next ? attemptOf(next.fence) === attemptOf(fence) + 1 : record?.attempt === attemptOf(fence)
    // A claim that was not seen came after this one.
    const to = isNextSeen ? (settledAt ?? next?.claim.at ?? Infinity) : (next?.claim.at ?? Infinity)
    return { from: claim.sentAt, to }
  })
  const isFirstSeen = seen[0] !== undefined && attemptOf(seen[0].fence) === 1
  const slowed = entries.flatMap((entry): Span[] => {
    if (entry.what !== 'slowed') return []
    const settled = entries.find((other) => other.what === 'settled' && other.fence === entry.fence)
    return [{ from: entry.at, to: settled ? settled.at + slowDownMs : Infinity }]
  })
  // A claim that was not seen came after the call of its add.
  const asked = Math.min(...entries.filter(({ what }) => what === 'asked').map(({ at }) => at))
  return [
    ...(isFirstSeen ? [] : [{ from: Number.isFinite(asked) ? asked : 0, to: seen[0]?.claim.at ?? Infinity }]),
    ...runs,
    ...slowed,
  ]
}
