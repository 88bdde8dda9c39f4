// No run begins before its time: not by the storage's own clock, nor sooner after the question, or after the run that failed,
// than was asked for. (S14, S18)

import { attemptOf } from '../entries.ts'
import { type JobHistory, timesAsked, type Violation, violation, wasCalled } from '../history.ts'
import { backoffMs } from '../jobs.ts'

const check = 'early'

/** The storage counts whole milliseconds of a clock of its own; the logs have another. */
const toleranceMs = 5

export function neverEarly(job: JobHistory): Violation[] {
  const { id, entries } = job
  const runs = entries.filter((entry) => entry.what === 'started')
  const bySelf = runs.find(({ runAt, claimedAt }) => claimedAt < runAt)
  if (bySelf) {
    const early = bySelf.runAt - bySelf.claimedAt
    return [violation(check, `${id}: ${bySelf.fence} began ${early} ms early by the storage's clock`, job)]
  }
  const [first] = runs
  const asked = entries.find((entry) => entry.what === 'asked')
  if (first && asked && first.at + toleranceMs < asked.at + asked.delayMs) {
    const after = Math.round(first.at - asked.at)
    return [violation(check, `${id} was asked for in ${asked.delayMs} ms, and began after ${after}`, job)]
  }
  // In another life the attempts are numbered anew.
  if (timesAsked(job) > 1 || wasCalled(job, 'revive')) return []
  for (const entry of entries) {
    if (entry.what !== 'settled' || entry.verdict !== 'settled' || entry.kind !== 'retry') continue
    const ended = entries.find((other) => other.what === 'ended' && other.fence === entry.fence)
    const next = runs.find(({ fence }) => attemptOf(fence) === attemptOf(entry.fence) + 1)
    if (!ended || !next || next.at + toleranceMs >= ended.at + backoffMs) continue
    const after = Math.round(next.at - ended.at)
    return [violation(check, `${id}: ${next.fence} began ${after} ms after a failure, of ${backoffMs}`, job)]
  }
  return []
}
