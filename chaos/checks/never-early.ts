// No run starts early: neither by the storage's clock, nor sooner after its add or after a failed run
// than its delay. (S14, S18)

import { attemptOf } from '../entries.ts'
import { type JobHistory, timesAsked, type Violation, violation, wasCalled } from '../history.ts'
import { backoffMs } from '../jobs.ts'

const check = 'early'

/** The storage has its own clock in whole milliseconds; the logs use another. */
const toleranceMs = 5

export function neverEarly(job: JobHistory): Violation[] {
  const { id, entries } = job
  const runs = entries.filter((entry) => entry.what === 'started')
  const bySelf = runs.find(({ runAt, claimedAt }) => claimedAt < runAt)
  if (bySelf) {
    const early = bySelf.runAt - bySelf.claimedAt
    return [violation(check, `${id}: ${bySelf.fence} started ${early} ms early by the storage's clock`, job)]
  }
  const [first] = runs
  const asked = entries.find((entry) => entry.what === 'asked')
  if (first && asked && first.at + toleranceMs < asked.at + asked.delayMs) {
    const after = Math.round(first.at - asked.at)
    return [violation(check, `${id} had a delay of ${asked.delayMs} ms and started after ${after}`, job)]
  }
  // Another life numbers its attempts from 1 again.
  if (timesAsked(job) > 1 || wasCalled(job, 'revive')) return []
  for (const entry of entries) {
    if (entry.what !== 'settled' || entry.verdict !== 'settled' || entry.kind !== 'retry') continue
    const ended = entries.find((other) => other.what === 'ended' && other.fence === entry.fence)
    const next = runs.find(({ fence }) => attemptOf(fence) === attemptOf(entry.fence) + 1)
    if (!ended || !next || next.at + toleranceMs >= ended.at + backoffMs) continue
    const after = Math.round(next.at - ended.at)
    return [violation(check, `${id}: ${next.fence} started ${after} ms after a failure, backoff ${backoffMs}`, job)]
  }
  return []
}
