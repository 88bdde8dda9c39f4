// What happened to one record in one call, from its fields before and after it.

import type {
  AttemptRecord,
  Bytes,
  Extension,
  JobRecord,
  LeaseRef,
  NewJob,
  Outcome,
  RecoverRequest,
  When,
} from 'holdfast/storage'
import { fenceOf } from '../../entries.ts'
import { isTerminal } from './states.ts'
import type { StorageChange } from './entries.ts'

export interface CallFacts {
  readonly verb: string
  readonly at: number
  /** The jobs that the call asked to add, by type and id; and by their tokens: one may replace another of the same call. */
  readonly items: ReadonlyMap<string, NewJob>
  readonly outcomes: readonly Outcome[]
  readonly args: readonly unknown[]
}

export function changesOf(
  before: JobRecord | undefined,
  after: JobRecord | undefined,
  facts: CallFacts,
): StorageChange[] {
  if (!before && !after) return []
  if (!after) return endAtOnce(before!, facts)
  if (!before || before.token !== after.token)
    return [addedOf(before, after, facts), ...changesOfLife(undefined, after, facts)]
  return changesOfLife(before, after, facts)
}

/** A record that is kept for 0 ms is gone with its end: the outcome of the call tells how it ended. */
function endAtOnce(before: JobRecord, { outcomes, at }: CallFacts): StorageChange[] {
  const { type, id, token, worker, attempt, retention, runAt, failures } = before
  const sent = outcomes.find(
    (one) => one.type === type && one.id === id && 'worker' in one && one.worker === worker && one.attempt === attempt,
  )
  const keptMs =
    sent?.kind === 'completed' ? retention.completedMs : sent?.kind === 'failed' ? retention.failedMs : undefined
  if (!sent || keptMs !== 0) return [goneOf(before)]
  const state = sent.kind as 'completed' | 'failed'
  const fence = fenceOf(before as LeaseRef)
  const result = sent.kind === 'completed' ? hashOf(sent.result) : undefined
  const life = { type, id, token }
  return [
    {
      what: 'settled',
      ...life,
      fence,
      outcome: sent.kind,
      state,
      runAt,
      failures,
      expiresAt: at,
      result,
      writers: [fence],
    },
    { what: 'gone', ...life, state, expiresAt: at },
  ]
}

/** @param before undefined: the life began in this call */
function changesOfLife(before: JobRecord | undefined, after: JobRecord, facts: CallFacts): StorageChange[] {
  const changes: StorageChange[] = []
  const life = { type: after.type, id: after.id, token: after.token }
  const heldBefore = before?.worker === undefined ? undefined : fenceOf(before as LeaseRef)
  const heldAfter = after.worker === undefined ? undefined : fenceOf(after as LeaseRef)
  const ended = newAttempts(before, after)
  for (const attempt of ended) changes.push(endOf(attempt, before, after, facts, heldBefore))
  if (!before) {
    if (heldAfter !== undefined) changes.push(claimedOf(after, heldAfter))
    return changes
  }
  const isLost =
    heldBefore !== undefined && heldBefore !== heldAfter && !ended.some((one) => fenceOf(one) === heldBefore)
  if (isLost) changes.push({ what: 'vanished', ...life, fence: heldBefore })
  const wasTerminal = isTerminal(before.state)
  const isEnd = !wasTerminal && isTerminal(after.state)
  if (isEnd && !ended.some(({ state }) => isTerminal(state))) {
    changes.push({ what: 'ended', ...life, state: after.state, reason: after.reason, expiresAt: after.expiresAt })
  }
  if (wasTerminal && !isTerminal(after.state)) changes.push({ what: 'revived', ...life, runAt: after.runAt })
  else if (wasTerminal && before.expiresAt !== after.expiresAt) {
    changes.push({ what: 'expiry', ...life, expiresAt: after.expiresAt })
  }
  if (!areEqual(before.payload, after.payload)) changes.push({ what: 'payload', ...life, hash: hashOf(after.payload) })
  if (before.openBlockers !== after.openBlockers && !isTerminal(after.state) && !wasTerminal) {
    changes.push({ what: 'unblocked', ...life, open: after.openBlockers, runAt: after.runAt })
  } else if (ended.length === 0 && !wasTerminal && !isTerminal(after.state) && before.runAt !== after.runAt) {
    changes.push({ what: 'moved', ...life, runAt: after.runAt })
  }
  if (heldAfter !== undefined && heldAfter !== heldBefore) changes.push(claimedOf(after, heldAfter))
  else if (heldAfter !== undefined && before.leaseUntil !== after.leaseUntil) {
    changes.push({
      what: 'extended',
      ...life,
      fence: heldAfter,
      until: after.leaseUntil!,
      writers: writersOf(life, facts),
    })
  }
  if (!before.cancelling && after.cancelling) changes.push({ what: 'cancelling', ...life, fence: heldAfter! })
  if (!areEqual(before.progress, after.progress)) {
    changes.push({ what: 'reported', ...life, fence: heldAfter ?? heldBefore, writers: writersOf(life, facts) })
  }
  return changes
}

function addedOf(before: JobRecord | undefined, after: JobRecord, { verb, at, items }: CallFacts): StorageChange {
  const { type, id, token } = after
  const item = items.get(`${type}/${id} ${token}`) ?? items.get(`${type}/${id}`)
  return {
    what: 'added',
    type,
    id,
    token,
    hash: hashOf(item?.payload ?? after.payload),
    runAt: after.runAt,
    due: item && dueOf(item, at),
    priority: item?.priority ?? after.priority,
    weight: after.weight ?? 1,
    group: after.group ?? item?.group?.key,
    ordered: item?.group?.ordered,
    key: after.deduplicationKey ?? item?.deduplication?.key,
    mode:
      item?.deduplication &&
      ('windowMs' in item.deduplication && item.deduplication.windowMs ? 'window' : item.deduplication.mode),
    maxAttempts: item?.maxAttempts ?? after.maxAttempts,
    chain: `${after.chain.type}/${after.chain.id}`,
    blockers: [...new Set((after.blockers ?? []).map((ref) => `${ref.type}/${ref.id}`))],
    open: after.openBlockers,
    wants: item?.blockers?.length ?? 0,
    over: before && before.token !== token ? before.state : undefined,
    replaces: item?.onDuplicate === 'replace' || verb !== 'add' ? true : undefined,
  }
}

/** The time that was asked for. In mode `debounce` the window decides. */
function dueOf({ runAt, delayMs }: When, at: number): number | undefined {
  return delayMs === undefined ? runAt : at + delayMs
}

/** A record that a dependent needed gets its expiry, which may be over, with the end of that: by then it is gone. */
function goneOf({ type, id, token, state, expiresAt, finishedAt, retention }: JobRecord): StorageChange {
  const keptMs =
    state === 'completed' ? retention.completedMs : state === 'failed' ? retention.failedMs : retention.cancelledMs
  const over = finishedAt === undefined ? undefined : finishedAt + keptMs
  return { what: 'gone', type, id, token, state, expiresAt: expiresAt ?? over }
}

function claimedOf(after: JobRecord, fence: string): StorageChange {
  const { type, id, token, attempt, leaseUntil, runAt, worker } = after
  return {
    what: 'claimed',
    type,
    id,
    token,
    fence,
    attempt,
    until: leaseUntil!,
    runAt,
    ahead: worker!.endsWith('+ahead'),
  }
}

function endOf(
  attempt: AttemptRecord,
  before: JobRecord | undefined,
  after: JobRecord,
  { verb, at, args, outcomes }: CallFacts,
  heldBefore: string | undefined,
): StorageChange {
  const { type, id, token, runAt, failures, expiresAt } = after
  const life = { type, id, token }
  const fence = fenceOf(attempt)
  const { state, outcome } = attempt
  if (outcome === 'cancelled') return { what: 'ended', ...life, state, fence, expiresAt }
  if (outcome === 'stalled') {
    const until = heldBefore === fence ? before!.leaseUntil! : at
    const olderThanMs = verb === 'recover' ? (args[0] as RecoverRequest).olderThanMs : undefined
    const ahead = attempt.worker.endsWith('+ahead')
    return {
      what: 'recovered',
      ...life,
      fence,
      until,
      startedAt: attempt.startedAt,
      olderThanMs,
      state,
      runAt,
      failures,
      expiresAt,
      ahead,
    }
  }
  // A call may carry outcomes of two attempts of one job.
  const sent = outcomes.find((one) => one.type === type && one.id === id && 'worker' in one && fenceOf(one) === fence)
  const due =
    sent && (sent.kind === 'retry' || sent.kind === 'released') && !isTerminal(state) ? dueOf(sent, at) : undefined
  const result = isTerminal(state) && outcome === 'completed' ? hashOf(after.result) : undefined
  const writers = outcomes
    .filter((one) => one.type === type && one.id === id)
    .flatMap((one) => ('worker' in one ? [fenceOf(one)] : []))
  return { what: 'settled', ...life, fence, outcome, state, runAt, due, failures, expiresAt, result, writers }
}

/** The attempts that ended in this call. */
function newAttempts(before: JobRecord | undefined, after: JobRecord): AttemptRecord[] {
  const attempts = after.attempts ?? []
  if (attempts.length === 0) return []
  // Most calls end none: then the newest is the one that was the newest.
  const newest = before?.attempts?.at(-1)
  if (newest && fenceOf(newest) === fenceOf(attempts.at(-1)!)) return []
  const known = new Set(before?.attempts?.map(fenceOf))
  return attempts.filter((attempt) => !known.has(fenceOf(attempt)))
}

/** The fences that a call named for a job. */
function writersOf({ type, id }: { type: string; id: string }, { verb, args, outcomes }: CallFacts): string[] {
  const named = verb === 'extend' ? (args[0] as readonly Extension[]) : outcomes
  return named.flatMap((one) => (one.type === type && one.id === id && 'worker' in one ? [fenceOf(one)] : []))
}

const areEqual = (one: Bytes | undefined, other: Bytes | undefined): boolean =>
  one === other || textOf(one) === textOf(other)

const textOf = (bytes: Bytes | undefined): string => (bytes === undefined ? '' : Buffer.from(bytes).toString('latin1'))

/** The part of a payload or result that identifies it. */
export function hashOf(bytes: Bytes | undefined): string {
  const text = textOf(bytes)
  return /(payload|result)-[^"\\]*/.exec(text)?.[0] ?? text
}
