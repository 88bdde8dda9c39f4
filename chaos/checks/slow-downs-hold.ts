// After a handler was told to slow down, no job of its type or group is claimed before the time is over. (F23)

import { claimsOf } from '../claims.ts'
import type { Entry } from '../entries.ts'
import { type History, type JobHistory, type Violation, violation } from '../history.ts'

export interface SlowDown {
  readonly job: JobHistory
  readonly scope: 'type' | 'group'
  /** The outcome was answered. */
  readonly from: number
  readonly to: number
  readonly entries: readonly Entry[]
}

export function slowDownsHold(history: History): Violation[] {
  const claims = claimsOf(history)
  const jobOf = new Map(history.jobs.map((job) => [job.id, job]))
  return slowDownsOf(history).flatMap(({ job, scope, from, to, entries }): Violation[] => {
    const isOfScope = ({ id }: { readonly id: string }): boolean =>
      scope === 'type' || (job.group !== undefined && jobOf.get(id)?.group === job.group)
    const claim = claims.find(({ type, sentAt, at, runs }) => {
      return type === job.type && sentAt > from && at < to && runs.some(isOfScope)
    })
    if (!claim) return []
    const ids = claim.runs.map(({ id }) => id).join(', ')
    const what = scope === 'type' ? job.type : job.group
    const sentence = `${job.id} slowed ${what} down, and ${claim.by} claimed ${ids}`
    return [violation('slowed', sentence, job, [...entries, claim])]
  })
}

/** Those whose outcome was recorded: until the given time after the handler, which is before the outcome. */
export function slowDownsOf({ jobs }: History): SlowDown[] {
  return jobs.flatMap((job) =>
    job.entries.flatMap((slowed): SlowDown[] => {
      if (slowed.what !== 'slowed') return []
      const settled = job.entries.find(
        (entry) => entry.what === 'settled' && entry.fence === slowed.fence && entry.verdict === 'settled',
      )
      if (!settled) return []
      const [from, to] = [settled.at, slowed.at + slowed.ms]
      return [{ job, scope: slowed.scope, from, to, entries: [slowed, settled] }]
    }),
  )
}
