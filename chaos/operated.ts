// How often the operating features were used in a run: a clean run without them proves nothing about them.

import { choicesOf } from './checks/claims-in-order.ts'
import { pausesOf } from './checks/pauses-hold.ts'
import type { History } from './history.ts'

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
}

export function operatedOf(history: History): Operated {
  const { entries, jobs } = history
  return {
    pauses: pausesOf(history).length,
    redriven: entries.filter((entry) => entry.what === 'called' && entry.edited && entry.verdict === 'revived').length,
    choices: choicesOf(history).choices,
    lines: jobs.reduce((sum, { record }) => sum + (record?.log?.length ?? 0), 0),
    reportsUnanswered: entries.filter(({ what }) => what === 'reportUnanswered').length,
  }
}
