// A deduplication key does what its mode says, however many producers use it at once. (S11, F25)

import { addOf, claimsOf, firstClaims } from '../claims.ts'
import type { Entry } from '../entries.ts'
import { heldRuns, overLimit } from '../held.ts'
import { completions, type History, type JobHistory, type Violation, violation } from '../history.ts'
import { type Mode, windowsMs } from '../keys.ts'

interface Added {
  readonly job: JobHistory
  readonly askedAt: number
  readonly ackedAt: number
  readonly status: string
  /** Id of the job that stands: its own, unless the key was another's. */
  readonly standing: string
  /** The call of its first claim; undefined if that was not seen. */
  readonly claimedAt: number | undefined
}

export function keysHold(history: History): Violation[] {
  const adds = addsOf(history)
  const ofMode = (mode: Mode): Added[] => adds.filter(({ job }) => job.key!.mode === mode)
  const jobsOf = (mode: Mode): Added[] => ofMode(mode).filter(({ status }) => status === 'queued')
  return [
    ...together('two live jobs have the key', jobsOf('simple').flatMap(liveSpan)),
    ...(['debounce', 'followUp'] as const).flatMap((mode) =>
      together('two waiting jobs have the key', jobsOf(mode).flatMap(waitingSpan)),
    ),
    ...together(
      'two jobs of the key ran at once',
      heldRuns(history).filter(({ job }) => job.key?.mode === 'followUp'),
    ),
    ...throttled(jobsOf('throttle')),
    ...descended(jobsOf('ascending')),
    ...staleForNothing(
      ofMode('ascending').filter(({ status }) => status === 'stale'),
      history,
    ),
    ...replaced([...ofMode('debounce'), ...ofMode('followUp')]),
  ]
}

/** Calls that were made once and answered: what a repeated one did is not known. */
function addsOf(history: History): Added[] {
  const first = firstClaims(claimsOf(history))
  return history.jobs.flatMap((job): Added[] => {
    const [add, claim] = [addOf(job), first.get(job.id)]
    const acked = job.entries.find((entry) => entry.what === 'acked')
    if (!job.key || !add || !acked) return []
    const claimedAt = claim?.attempt === 1 ? claim.sentAt : undefined
    return [{ job, ...add, status: acked.status, standing: acked.standing ?? job.id, claimedAt }]
  })
}

interface Span {
  readonly job: JobHistory
  readonly from: number
  readonly to: number
}

/** Until the handler of the run that completed the job returned. */
function liveSpan({ job, ackedAt }: Added): Span[] {
  const [last] = completions(job)
  const ended = job.entries.find((entry) => entry.what === 'ended' && entry.fence === last)
  return ended ? [{ job, from: ackedAt, to: ended.at }] : []
}

const waitingSpan = ({ job, ackedAt, claimedAt }: Added): Span[] =>
  claimedAt === undefined ? [] : [{ job, from: ackedAt, to: claimedAt }]

function together(what: string, spans: readonly Span[]): Violation[] {
  const found = overLimit(
    spans.filter(({ from, to }) => from < to),
    1,
  )
  return found ? [wrong(`${what}: ${found.map(({ job }) => job.id).join(', ')}`, found)] : []
}

/** Two were added within a window. */
function throttled(adds: readonly Added[]): Violation[] {
  const sorted = adds.toSorted((one, other) => one.askedAt - other.askedAt)
  return sorted.slice(1).flatMap((add, index): Violation[] => {
    const before = sorted[index]!
    // At most this time was between them.
    const ms = Math.max(add.ackedAt, before.ackedAt) - Math.min(add.askedAt, before.askedAt)
    if (ms >= windowsMs.throttle) return []
    return [wrong(`${before.job.id} and ${add.job.id} were added within ${Math.round(ms)} ms`, [before, add])]
  })
}

/** A version was added after one that is as great or greater. */
function descended(adds: readonly Added[]): Violation[] {
  return adds.flatMap((add): Violation[] => {
    const { askedAt, job } = add
    const before = adds.find((one) => one.ackedAt < askedAt && one.job.key!.version! >= job.key!.version!)
    if (!before) return []
    return [wrong(`${job.id} was added after ${before.job.id}, which has a greater version`, [before, add])]
  })
}

/** A version was stale, though no other call had one that is as great. */
function staleForNothing(adds: readonly Added[], { entries }: History): Violation[] {
  const asks = entries.filter((entry) => entry.what === 'asked' && entry.key?.mode === 'ascending')
  return adds.flatMap((add): Violation[] => {
    const { job, ackedAt } = add
    const isOver = (entry: Entry): boolean =>
      entry.what === 'asked' && entry.id !== job.id && entry.at < ackedAt && entry.key!.version! >= job.key!.version!
    return asks.some(isOver) ? [] : [wrong(`${job.id} was stale, and no version is as great`, [add])]
  })
}

/** The payload of a job is that of the last call that replaced it before its claim. */
function replaced(adds: readonly Added[]): Violation[] {
  return adds.flatMap((add): Violation[] => {
    const { job, claimedAt, status } = add
    const run = job.entries.find((entry) => entry.what === 'started')
    if (status !== 'queued' || claimedAt === undefined || !run) return []
    const payload = adds.find((one) => one.job.id === run.payloadOf)
    const later = adds.find(
      (one) =>
        one.status === 'replaced' &&
        one.standing === job.id &&
        one.ackedAt < claimedAt &&
        payload !== undefined &&
        one.askedAt > payload.ackedAt,
    )
    if (!later) return []
    return [wrong(`${job.id} ran with the payload of ${run.payloadOf}, not of ${later.job.id}`, [add, later])]
  })
}

function wrong(sentence: string, of: readonly { readonly job: JobHistory }[]): Violation {
  const entries = of.flatMap(({ job }) => job.entries).toSorted((one, other) => one.at - other.at)
  return violation('keys', sentence, undefined, entries)
}
