// A claim takes no job while one of a higher priority could be claimed during the whole call; and the jobs of an ordered group are
// claimed in the order of their adds. (S15)

import { addOf, type ClaimEntry, claimsOf, firstClaims, lastClaims } from '../claims.ts'
import type { Entry } from '../entries.ts'
import { type History, type JobHistory, type Violation, violation } from '../history.ts'

const check = 'misordered'

export function claimsInOrder(history: History): Violation[] {
  return [...choicesOf(history).wrong, ...groupsOutOfOrder(history)]
}

/** A job that could be claimed from its add to its first claim. */
interface Wait {
  readonly job: JobHistory
  readonly from: number
  readonly to: number
}

/** The claims that could choose: meanwhile a job of another priority waited. `wrong`: those that took the lower one. */
export function choicesOf(history: History): { readonly choices: number; readonly wrong: readonly Violation[] } {
  const claims = claimsOf(history)
  const jobOf = new Map(history.jobs.map((job) => [job.id, job]))
  const waits = waitsOf(history, claims)
  const waiting = new Set<Wait>()
  const wrong: Violation[] = []
  let [choices, next] = [0, 0]
  for (const claim of claims) {
    while (next < waits.length && waits[next]!.from < claim.sentAt) waiting.add(waits[next++]!)
    for (const wait of waiting) if (wait.to <= claim.sentAt) waiting.delete(wait)
    const priorities = claim.runs.flatMap(({ id }) => jobOf.get(id)?.priority ?? [])
    const passed = [...waiting].filter(({ job, to }) => job.type === claim.type && to > claim.at)
    const lowest = Math.min(...priorities)
    if (passed.some(({ job }) => job.priority !== lowest)) choices++
    const higher = passed.find(({ job }) => job.priority > lowest)
    if (!higher || (history.passesLocked && mayBeLocked(history, claim))) continue
    const { id, priority } = higher.job
    const sentence = `${claim.by} claimed a job of priority ${lowest} while ${id} of priority ${priority} waited`
    wrong.push(violation(check, sentence, higher.job, [...higher.job.entries, claim]))
  }
  return { choices, wrong }
}

/** Only jobs whose first attempt was seen: of another one a claim without an answer may have had the lease. */
function waitsOf({ jobs }: History, claims: readonly ClaimEntry[]): Wait[] {
  const first = firstClaims(claims)
  const waits = jobs.flatMap((job): Wait[] => {
    const [add, claim] = [addOf(job), first.get(job.id)]
    const isPlain = job.group === undefined && job.kind !== 'cancelled'
    if (!isPlain || !add || claim?.attempt !== 1) return []
    return [{ job, from: add.ackedAt, to: claim.sentAt }]
  })
  return waits.toSorted((one, other) => one.from - other.from)
}

/** Time in which a server ends the transaction of a client that is gone, ms. */
const goneMs = 1_000

/** Another claim was under way, or a process or a connection had ended: a row lock may have been held. */
function mayBeLocked({ entries }: History, claim: ClaimEntry): boolean {
  return entries.some((entry) => {
    if (entry.at < claim.sentAt - goneMs) return false
    if (isFault(entry)) return entry.at <= claim.at
    const isClaim = entry.what === 'claimed' || entry.what === 'claimFailed'
    return isClaim && entry !== claim && entry.at >= claim.sentAt && entry.sentAt <= claim.at
  })
}

const isFault = ({ what }: Entry): boolean =>
  ['exited', 'killed', 'crashing', 'stopped', 'serverKilled', 'sessionEnded', 'disturbed', 'restored'].includes(what)

/** The head of a group holds it until it ends: all claims of a job that was added before must have been before. */
function groupsOutOfOrder(history: History): Violation[] {
  const claims = claimsOf(history)
  const [first, lastOf] = [firstClaims(claims), lastClaims(claims)]
  const members = history.jobs.flatMap((job) => {
    const [add, claim, lastClaim] = [addOf(job), first.get(job.id), lastOf.get(job.id)]
    return job.ordered && add && claim && lastClaim ? [{ job, add, claim, lastClaim }] : []
  })
  const wrong: Violation[] = []
  for (const [group, jobs] of Map.groupBy(members, ({ job }) => job.group!)) {
    const byAsked = jobs.toSorted((one, other) => one.add.askedAt - other.add.askedAt)
    const byAcked = jobs.toSorted((one, other) => one.add.ackedAt - other.add.ackedAt)
    let next = 0
    let last: (typeof jobs)[number] | undefined
    for (const member of byAsked) {
      for (; next < byAcked.length && byAcked[next]!.add.ackedAt < member.add.askedAt; next++) {
        if (!last || byAcked[next]!.lastClaim.sentAt > last.lastClaim.sentAt) last = byAcked[next]
      }
      if (!last || member.claim.at >= last.lastClaim.sentAt) continue
      const sentence = `${group}: ${member.job.id} was claimed before the last run of ${last.job.id}, which was added before it`
      wrong.push(violation(check, sentence, member.job, [...last.job.entries, ...member.job.entries]))
    }
  }
  return wrong
}
