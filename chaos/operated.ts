// How often the operating features were used in a run: a clean run without them proves nothing about them.

import { choicesOf } from './checks/claims-in-order.ts'
import { turnsOf } from './checks/groups-take-turns.ts'
import { pausesOf } from './checks/pauses-hold.ts'
import { windowsOf } from './checks/rates-hold.ts'
import { slowDownsOf } from './checks/slow-downs-hold.ts'
import { heldRuns, timesFull } from './held.ts'
import type { History } from './history.ts'
import { limitsOf } from './limits.ts'

export interface Operated {
  /** Pauses that were answered and ended by a resume: of a type or a group. */
  readonly pauses: number
  /** Failed jobs that were revived with another payload. */
  readonly redriven: number
  /** Claims during which a job of another priority waited. */
  readonly choices: number
  /** Log lines on the records. */
  readonly lines: number
  /** Heartbeats with log lines that got no answer. */
  readonly reportsUnanswered: number
  /** Starts that filled the type with a largest concurrency, and those that filled one of its groups. */
  readonly typeFull: number
  readonly groupFull: number
  /** Starts after which an interval of the rate was used up. */
  readonly rateFull: number
  /** Recorded outcomes that slowed a type or a group down. */
  readonly slowDowns: number
  /** First claims of a job that other groups could have delayed. */
  readonly turns: number
  /** Slots of the schedule that have a job. */
  readonly slots: number
  /** Runs of jobs that came with their adds, instead of with the answer of a claim. */
  readonly handedOver: number
  /** Answers to adds with a deduplication key, by mode and status. */
  readonly keys: Readonly<Record<string, number>>
}

export function operatedOf(history: History): Operated {
  const { entries, jobs } = history
  return {
    pauses: pausesOf(history).length,
    redriven: entries.filter((entry) => entry.what === 'called' && entry.edited && entry.verdict === 'revived').length,
    choices: choicesOf(history).choices,
    lines: jobs.reduce((sum, { record }) => sum + (record?.log?.length ?? 0), 0),
    reportsUnanswered: entries.filter(({ what }) => what === 'reportUnanswered').length,
    ...limitsUsed(history),
    slowDowns: slowDownsOf(history).length,
    turns: turnsOf(history).filter(({ others }) => others > 0).length,
    slots: jobs.filter(({ kind }) => kind === 'slot').length,
    handedOver: handedOver(history),
    keys: keysUsed(history),
  }
}

function limitsUsed(history: History): Pick<Operated, 'typeFull' | 'groupFull' | 'rateFull'> {
  const runs = heldRuns(history).filter(({ job }) => job.type === 'limited')
  const { concurrency, group } = limitsOf.limited
  const ofGroups = Map.groupBy(
    runs.filter(({ job }) => job.group !== undefined),
    ({ job }) => job.group!,
  )
  return {
    typeFull: timesFull(runs, concurrency),
    groupFull: [...ofGroups.values()].reduce((sum, members) => sum + timesFull(members, group.limit), 0),
    // A job may weigh up to three.
    rateFull: windowsOf(history).filter(({ weight }) => weight >= limitsOf.rated.rate.limit - 2).length,
  }
}

function handedOver({ entries }: History): number {
  const handed = new Set(
    entries.flatMap((entry) => (entry.what === 'claimed' && entry.handed ? entry.runs.map(({ fence }) => fence) : [])),
  )
  return entries.filter((entry) => entry.what === 'started' && handed.has(entry.fence)).length
}

function keysUsed({ jobs }: History): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { key, entries } of jobs) {
    for (const entry of entries) {
      if (!key || entry.what !== 'acked') continue
      const name = `${key.mode} ${entry.status}`
      counts[name] = (counts[name] ?? 0) + 1
    }
  }
  return counts
}
