// No job of a paused type or group is claimed by a call that is made after the pause was answered, and that is answered before the
// resume is called. (S22)

import { claimsOf } from '../claims.ts'
import type { Entry } from '../entries.ts'
import { type History, type Violation, violation } from '../history.ts'

export interface Pause {
  readonly type: string
  readonly group: string | undefined
  readonly from: number
  readonly to: number
  readonly entries: readonly Entry[]
}

export function pausesHold(history: History): Violation[] {
  const claims = claimsOf(history)
  const groupOf = new Map(history.jobs.map(({ id, group }) => [id, group]))
  return pausesOf(history).flatMap(({ type, group, from, to, entries }): Violation[] => {
    const claim = claims.find(({ type: claimed, sentAt, at, runs }) => {
      if (claimed !== type || sentAt <= from || at >= to) return false
      return group === undefined || runs.some(({ id }) => groupOf.get(id) === group)
    })
    if (!claim) return []
    const what = group === undefined ? type : `${group} of ${type}`
    const ids = claim.runs.map(({ id }) => id).join(', ')
    return [violation('paused', `${what} was paused, and ${claim.by} claimed ${ids}`, undefined, [...entries, claim])]
  })
}

/** From the answer of each pause to the next call that resumes its target, by any process. */
export function pausesOf({ entries }: History): Pause[] {
  const open = new Map<string, Extract<Entry, { what: 'paused' | 'resuming' }>>()
  return entries.flatMap((entry): Pause[] => {
    if (entry.what !== 'paused' && entry.what !== 'resuming') return []
    const name = JSON.stringify([entry.type, entry.group])
    const paused = open.get(name)
    if (entry.what === 'paused') open.set(name, entry)
    else open.delete(name)
    if (!paused) return []
    return [{ type: entry.type, group: entry.group, from: paused.at, to: entry.at, entries: [paused, entry] }]
  })
}
