// The claims of a run: each with the instants of its call and of its answer.

import { attemptOf, type Entry } from './entries.ts'
import type { History, JobHistory } from './history.ts'

export type ClaimEntry = Extract<Entry, { what: 'claimed' }>

/** The claims that found jobs, in the order of their calls. */
export function claimsOf({ entries, jobs }: History): ClaimEntry[] {
  const askedAt = new Map(jobs.map((job) => [job.id, job.entries.find(({ what }) => what === 'asked')?.at]))
  const claims = entries.flatMap((entry): ClaimEntry[] => {
    if (entry.what !== 'claimed' || entry.runs.length === 0) return []
    // The add leased it: not before it was called, nor before the offer.
    return [entry.handed ? { ...entry, sentAt: Math.max(entry.sentAt, askedAt.get(entry.runs[0]!.id) ?? 0) } : entry]
  })
  return claims.toSorted((one, other) => one.sentAt - other.sentAt)
}

/** The first claim of each job that was answered. */
export function firstClaims(claims: readonly ClaimEntry[]): ReadonlyMap<string, ClaimEntry & { attempt: number }> {
  const first = new Map<string, ClaimEntry & { attempt: number }>()
  for (const claim of claims) {
    for (const { id, fence } of claim.runs) {
      if (!first.has(id)) first.set(id, { ...claim, attempt: attemptOf(fence) })
    }
  }
  return first
}

/** The last claim of each job that was answered. */
export function lastClaims(claims: readonly ClaimEntry[]): ReadonlyMap<string, ClaimEntry> {
  return new Map(claims.flatMap((claim) => claim.runs.map(({ id }) => [id, claim] as const)))
}

/** The instants of the only add of a job; undefined if it was added several times or never answered. */
export function addOf({ entries }: JobHistory): { readonly askedAt: number; readonly ackedAt: number } | undefined {
  const [asked, more] = entries.filter(({ what }) => what === 'asked')
  const acked = entries.find(({ what }) => what === 'acked')
  return asked && acked && !more ? { askedAt: asked.at, ackedAt: acked.at } : undefined
}
