// The fast path of a release: jobs that a fast claim has leased go back to their old place. One statement for all of one claim and
// attempt, whose records of that attempt are the same text.

import type { AttemptRecord, LeaseRef, Outcome, Report, SettleVerdict } from '../../storage.ts'
import type { SqliteMove } from '../rules/move.ts'
import type { HeldJob } from './held-jobs.ts'
import { runOn } from './seqs.ts'

export type Release = LeaseRef & Report & { readonly kind: 'released' }

/** A release that changes nothing else, and is no snooze. */
export function isPlainRelease(outcome: Outcome): outcome is Release {
  if (outcome.kind !== 'released') return false
  const { runAt, delayMs, payload, error, slowDown } = outcome
  return (runAt ?? delayMs ?? payload ?? error ?? slowDown) === undefined
}

/** Of jobs with the same lease and attempt: the first one, and all rows. */
export interface Releases {
  readonly first: HeldJob
  readonly seqs: number[]
  /** Their claim was open: their rows are still at their old place. */
  readonly isOpen: boolean
}

export function release(move: SqliteMove, all: Releases[], held: HeldJob): SettleVerdict {
  const { type, id, lease, attempt, failures, runAt, seq } = held
  const isOpen = move.set.takeHeld(held)
  const together = all.find((other) => {
    const { first } = other
    return first.lease === lease && first.attempt === attempt && first.type === type && other.isOpen === isOpen
  })
  if (together) together.seqs.push(seq)
  else all.push({ first: held, seqs: [seq], isOpen })
  if (move.hasListeners(type)) move.event({ type, id, lease }, 'requeued', failures)
  move.wake(type)
  // It was due when it was claimed.
  return { verdict: 'settled', state: 'queued', runAt, added: [], ended: [], unblocked: [] }
}

export function writeReleases({ set, now }: SqliteMove, all: readonly Releases[]): void {
  const { releaseRange, releaseList, releaseOpenRange, releaseOpenList } = set.statements
  for (const { first, seqs, isOpen } of all) {
    const range = isOpen ? releaseOpenRange : releaseRange
    const list = isOpen ? releaseOpenList : releaseList
    const { type, attempt, lease } = first
    const { worker, label, startedAt } = lease
    const ended = { endedAt: now, outcome: 'released', state: 'queued', error: undefined } as const
    const entry: AttemptRecord = { attempt, worker, label, startedAt, ...ended }
    runOn({ range, list }, [JSON.stringify({ attempts: [entry] })], seqs)
    set.types.count(type, 'processing', -seqs.length)
    set.types.count(type, 'queued', seqs.length)
  }
}
