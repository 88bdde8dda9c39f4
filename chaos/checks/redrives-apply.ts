// A job that failed for good is redriven and completes, with the payload of the redrive: no later run has the old one. (F28)

import { claimsOf } from '../claims.ts'
import { type History, timesAsked, type Violation, violation, wasAcked } from '../history.ts'

const check = 'redrive'

export function redrivesApply(history: History): Violation[] {
  const sentAt = new Map(
    claimsOf(history).flatMap((claim) => claim.runs.map(({ fence, id }) => [fence + id, claim.sentAt])),
  )
  return history.jobs.flatMap((job): Violation[] => {
    const { id, kind, record, entries } = job
    if (kind !== 'failing' || !record || !wasAcked(job)) return []
    if (record.state !== 'completed') {
      return [violation(check, `${id} failed, and is ${record.state} after the last redrive`, job)]
    }
    // Another life has its own payload.
    if (timesAsked(job) > 1) return []
    const redriven = entries.find((entry) => entry.what === 'called' && entry.edited && entry.verdict === 'revived')
    const old = entries.find((entry) => {
      return entry.what === 'started' && !entry.edited && redriven && sentAt.get(entry.fence + id)! > redriven.at
    })
    return old ? [violation(check, `${id} was redriven with another payload, and ran with the old one`, job)] : []
  })
}
