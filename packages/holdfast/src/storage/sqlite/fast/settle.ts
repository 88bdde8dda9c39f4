// The fast path of settle: completions and releases of jobs that a fast claim has leased. One statement for all that end alike.
//
// Invariant: an end is written only under the fence of its lease (held-jobs.ts). An outcome that is not plain is decided by the rules,
// after those before it were written.

import { settle } from '../../rules/settle.ts'
import type { Lease } from '../../rules/move.ts'
import type { Bytes, LeaseRef, Outcome, Report, SettleVerdict } from '../../storage.ts'
import { instant } from '../rules/job.ts'
import type { SqliteMove } from '../rules/move.ts'
import type { SqliteType } from '../rules/type.ts'
import type { HeldJob } from './held-jobs.ts'
import { isPlainRelease, release, type Release, type Releases, writeReleases } from './release.ts'
import { runOn } from './seqs.ts'

type Completion = LeaseRef & Report & { readonly kind: 'completed'; readonly result?: Bytes; readonly keepMs?: number }

/** Jobs that end in the same way. */
interface Ends {
  readonly type: SqliteType
  readonly keepMs: number
  readonly result: Bytes | undefined
  readonly seqs: number[]
  /** Of jobs whose claim was open. Undefined: their rows have it. */
  readonly lease: Lease | undefined
  readonly verdict: SettleVerdict
}

/** Ways that are looked through for an outcome: jobs of as many open claims, mostly. Beyond them, each has a statement of its own. */
const mostWays = 16

export function settleFast(move: SqliteMove, outcomes: readonly Outcome[]): SettleVerdict[] {
  // oxlint-disable-next-line unicorn/no-new-array -- its length is known
  const verdicts = new Array<SettleVerdict>(outcomes.length)
  let ends: Ends[] = []
  let releases: Releases[] = []
  const writeAll = (): void => {
    write(move, ends)
    writeReleases(move, releases)
    ends = []
    releases = []
  }
  let isRead = false
  for (let index = 0; index < outcomes.length; index++) {
    const outcome = outcomes[index]!
    const held = isPlain(outcome) ? heldBy(move, outcome) : undefined
    if (held) {
      verdicts[index] =
        outcome.kind === 'completed' ? complete(move, ends, held, outcome as Completion) : release(move, releases, held)
      continue
    }
    writeAll()
    // All that the rules decide are read together.
    if (!isRead) move.set.jobs.prefetch(outcomes.slice(index).filter((other) => !isFast(move, other)))
    isRead = true
    verdicts[index] = settle(move, [outcome])[0]!
  }
  writeAll()
  return verdicts
}

const isFast = (move: SqliteMove, outcome: Outcome): boolean => isPlain(outcome) && heldBy(move, outcome) !== undefined

function isPlain(outcome: Outcome): outcome is Completion | Release {
  if ('chain' in outcome || outcome.progress !== undefined || outcome.log?.length) return false
  return outcome.kind === 'completed' ? !outcome.add?.length : isPlainRelease(outcome)
}

function heldBy(move: SqliteMove, outcome: Completion | Release): HeldJob | undefined {
  const held = move.set.held.find(outcome)
  if (!held || held.type.flow) return undefined
  // The record of a released attempt stands beside those of others; and the clock may have been set back.
  if (outcome.kind === 'released') return held.hasMore || held.runAt > move.now ? undefined : held
  // A record that is kept for ever is in another list.
  return keepMsOf(outcome, held) < Infinity ? held : undefined
}

const keepMsOf = ({ keepMs }: Completion, held: HeldJob): number => keepMs ?? held.keepMs

function complete(move: SqliteMove, ends: Ends[], held: HeldJob, outcome: Completion): SettleVerdict {
  const { type, id, lease } = held
  const isOpen = move.set.takeHeld(held)
  const end = endOf(move, ends, held, isOpen ? lease : undefined, outcome)
  end.seqs.push(held.seq)
  if (move.hasListeners(type)) move.event({ type, id, lease }, 'completed', held.failures + 1)
  move.completed({ type, id })
  return end.verdict
}

function endOf({ now }: SqliteMove, ends: Ends[], held: HeldJob, lease: Lease | undefined, outcome: Completion): Ends {
  const { type } = held
  const { result } = outcome
  const keepMs = keepMsOf(outcome, held)
  if (ends.length <= mostWays) {
    for (const end of ends) {
      if (end.lease === lease && end.keepMs === keepMs && end.type === type && isSame(end.result, result)) return end
    }
  }
  const verdict = { ...plainEnd, expiresAt: now + keepMs }
  const end = { type, keepMs, result, seqs: [], lease, verdict }
  ends.push(end)
  return end
}

const plainEnd = { verdict: 'settled', state: 'completed', added: [], ended: [], unblocked: [] } as const

function isSame(a: Bytes | undefined, b: Bytes | undefined): boolean {
  if (a === b) return true
  if (!a || !b || a.byteLength !== b.byteLength) return false
  for (let index = 0; index < a.byteLength; index++) if (a[index] !== b[index]) return false
  return true
}

function write({ set, now }: SqliteMove, ends: readonly Ends[]): void {
  const { completeRange: range, completeList: list, completeOpenRange, completeOpenList } = set.statements
  for (const { type, keepMs, result, seqs, lease } of ends) {
    const expiresAt = instant(now + keepMs)
    const end = [now, result ?? null, expiresAt, expiresAt]
    if (lease) {
      const { worker, label = null, startedAt } = lease
      runOn({ range: completeOpenRange, list: completeOpenList }, [worker, label, startedAt, ...end], seqs)
    } else runOn({ range, list }, end, seqs)
    set.types.count(type, 'processing', -seqs.length)
    set.types.count(type, 'completed', seqs.length)
  }
}
