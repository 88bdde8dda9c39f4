// What the scripts answer, as the contract says it.

import type {
  AddVerdict,
  AttemptRecord,
  ClaimedJob,
  Ended,
  EndReason,
  JobRecord,
  JobRef,
  JobState,
  LeaseVerdict,
  Paused,
  Recovered,
  Refusal,
  RemoveVerdict,
  Retention,
  SettleVerdict,
  TypeCounts,
} from '../../storage.ts'
import { type Unpacked, Unpacker } from './unpack.ts'

type List = Unpacked[]

/** In the order of their numbers in the scripts. */
const stateNames: readonly JobState[] = [
  'scheduled',
  'blocked',
  'queued',
  'processing',
  'failing',
  'completed',
  'failed',
  'cancelled',
]
const outcomeNames = ['completed', 'retry', 'failed', 'released', 'continued', 'stalled', 'cancelled'] as const
const refusals: readonly Refusal[] = ['taken_by_another_worker', 'already_completed', 'not_found', 'cancelled']

// False is absence: nothing that is ever there is false.
const optional = <T extends Unpacked>(value: Unpacked): T | undefined => (value === false ? undefined : (value as T))
export const text = (value: Unpacked): string => (value as Buffer).toString()
const optionalText = (value: Unpacked): string | undefined => (value instanceof Buffer ? value.toString() : undefined)
const stateOf = (value: Unpacked): JobState => stateNames[value as number]!
const refOf = (value: Unpacked): JobRef => ({ type: text((value as List)[0]), id: text((value as List)[1]) })

function retentionOf(value: Unpacked): Retention {
  const [completedMs, failedMs, cancelledMs] = Array.isArray(value)
    ? (value as number[])
    : [value as number, value as number, value as number]
  return { completedMs: completedMs!, failedMs: failedMs!, cancelledMs: cancelledMs! }
}

/** A job of a claim's answer: its record (lua/store.ts), its payload if that is kept apart, the results of its blockers. */
export function claimedJob(type: string, id: string, record: Buffer): ClaimedJob {
  const answer = new Unpacker(record)
  const head = answer.head()
  const body = answer.next() as List
  const more = head.hasMore ? (answer.next() as { [key: string]: Unpacked }) : undefined
  const lease = answer.lease()
  const payload = body[4] === true ? answer.next() : body[4]
  const chain = more?.c ? refOf(more.c) : { type, id }
  return {
    type,
    id,
    worker: lease.worker,
    attempt: lease.attempt,
    token: text(body[0]),
    payload: optional<Buffer>(payload),
    failures: head.failures,
    snoozes: (more?.s as number | undefined) ?? 0,
    maxAttempts: optional<number>(body[2]),
    priority: body[1] as number,
    group: optionalText(body[6]),
    retention: retentionOf(body[3]),
    trace: optionalText(body[5]),
    createdAt: head.createdAt,
    runAt: head.runAt,
    startedAt: lease.startedAt,
    leaseUntil: lease.leaseUntil,
    error: more?.e as Buffer | undefined,
    chain,
    chainIndex: (more?.i as number | undefined) ?? 0,
    root: more?.ro ? refOf(more.ro) : chain,
    origin: more?.o ? refOf(more.o) : undefined,
    blockers: more?.b
      ? (answer.next() as List[]).map((item) => ({ ...refOf(item), result: optional<Buffer>(item[2]) }))
      : none,
  }
}
const none: ClaimedJob['blockers'] = []

export function addVerdict(answer: Unpacked): AddVerdict {
  const [kind, ...rest] = answer as List
  if (kind === 0) return { verdict: 'added', job: standing(rest) }
  if (kind === 1) return { verdict: 'duplicate', by: rest[0] === 0 ? 'id' : 'key', job: standing(rest.slice(1)) }
  return kind === 2 ? { verdict: 'skipped' } : { verdict: 'blocker_not_found', blocker: refOf(rest) }
}

function standing([type, id, token, state, result, createdAt]: List) {
  return {
    type: text(type),
    id: text(id),
    token: text(token),
    state: stateOf(state),
    createdAt: createdAt as number | undefined,
    result: optional<Buffer>(result),
  }
}

const nothing: never[] = []

export function settleVerdict(answer: Unpacked): SettleVerdict {
  // Of one that completed and was alone: when its record goes; true: never.
  if (!Array.isArray(answer)) return completed(answer)
  const [kind, state, runAt, expiresAt, added, ended, unblocked] = answer as List
  if (kind === 1) return { verdict: 'conflict', added: (state as List).map(addVerdict) }
  if ((kind as number) >= 2) return { verdict: refusals[(kind as number) - 2]! }
  const times = { runAt: optional<number>(runAt), expiresAt: optional<number>(expiresAt) }
  return {
    verdict: 'settled',
    state: stateOf(state),
    ...times,
    added: added ? (added as List).map(addVerdict) : nothing,
    ended: ended ? (ended as List).map(endedOf) : nothing,
    unblocked: unblocked ? (unblocked as List).map(refOf) : nothing,
  }
}

function completed(expiresAt: Unpacked): SettleVerdict {
  return {
    verdict: 'settled',
    state: 'completed',
    expiresAt: expiresAt === true ? undefined : (expiresAt as number),
    added: nothing,
    ended: nothing,
    unblocked: nothing,
  }
}

export function endedOf(answer: Unpacked): Ended {
  const [type, id, state, reason, attempt, failures, payload, chain] = answer as List
  return {
    type: text(type),
    id: text(id),
    chain: refOf(chain!),
    state: stateOf(state) as Ended['state'],
    reason: optionalText(reason) as EndReason | undefined,
    attempt: attempt as number,
    failures: failures as number,
    payload: optional<Buffer>(payload),
  }
}

export function recoveredOf(answer: Unpacked): Recovered {
  const [type, id, worker, attempt, label, state] = answer as List
  return {
    type: text(type),
    id: text(id),
    worker: text(worker),
    attempt: attempt as number,
    label: optionalText(label),
    state: stateOf(state),
  }
}

export function leaseVerdict(answer: Unpacked): LeaseVerdict {
  const [kind, until, reason] = answer as [number, number, Unpacked]
  if (kind >= 2) return { verdict: refusals[kind - 2]! }
  return kind === 0 ? { verdict: 'extended', until } : { verdict: 'cancelling', until, reason: optionalText(reason) }
}

function attemptOf(answer: Unpacked): AttemptRecord {
  const [attempt, worker, label, startedAt, endedAt, outcome, state, error] = answer as List
  return {
    attempt: attempt as number,
    worker: text(worker),
    label: optionalText(label),
    startedAt: startedAt as number,
    endedAt: endedAt as number,
    outcome: outcomeNames[outcome as number]!,
    state: stateOf(state),
    error: optional<Buffer>(error),
  }
}

/** As reads.ts puts it together. */
export function jobRecord(answer: Unpacked): JobRecord {
  const at = answer as List
  return {
    type: text(at[0]),
    id: text(at[1]),
    token: text(at[2]),
    state: stateOf(at[3]),
    reason: optionalText(at[4]) as EndReason | undefined,
    attempt: at[5] as number,
    failures: at[6] as number,
    snoozes: at[7] as number,
    maxAttempts: optional<number>(at[8]),
    priority: at[9] as number,
    group: optionalText(at[10]),
    deduplicationKey: optionalText(at[11]),
    retention: retentionOf(at[12]),
    trace: optionalText(at[13]),
    createdAt: at[14] as number,
    runAt: at[15] as number,
    startedAt: optional<number>(at[16]),
    finishedAt: optional<number>(at[17]),
    expiresAt: optional<number>(at[18]),
    label: optionalText(at[19]),
    worker: optionalText(at[20]),
    leaseUntil: optional<number>(at[21]),
    cancelling: at[22] as boolean,
    cancelReason: optionalText(at[23]),
    chain: refOf(at[24]),
    chainIndex: at[25] as number,
    root: refOf(at[26]),
    origin: at[27] ? refOf(at[27]) : undefined,
    openBlockers: at[28] as number,
    payload: optional<Buffer>(at[29]),
    result: optional<Buffer>(at[30]),
    error: optional<Buffer>(at[31]),
    attempts: at[32] ? (at[32] as List).map(attemptOf) : undefined,
    blockers: at[33] ? (at[33] as List).map(refOf) : undefined,
    tail: at[34] ? jobRecord(at[34]) : undefined,
  }
}

export function removeVerdict([kind, value]: List): RemoveVerdict {
  switch (kind) {
    case 3:
      return { verdict: 'kept', until: value as number }
    case 4:
      return { verdict: 'not_root', root: refOf(value) }
    case 5:
      return { verdict: 'referenced', by: (value as List).map(refOf) }
    default:
      return { verdict: kind === 0 ? 'removed' : kind === 1 ? 'not_terminal' : kind === 2 ? 'not_found' : 'untouched' }
  }
}

export function typeCounts([type, states, due, delayed, oldest, paused, groups]: List): TypeCounts {
  return {
    type: text(type),
    states: Object.fromEntries(
      stateNames.map((name, index) => [name, (states as number[])[index]!]),
    ) as TypeCounts['states'],
    due: due as number,
    delayed: delayed as number,
    oldestDueAt: oldest === false ? undefined : (oldest as number),
    paused: pausedOf(paused),
    pausedGroups: (groups as [Buffer, Unpacked][]).map(([group, since]) => ({
      group: text(group),
      ...pausedOf(since)!,
    })),
  }
}

function pausedOf(value: Unpacked): Paused | undefined {
  if (!value) return undefined
  const [since, by] = value as [number, Buffer | false]
  return { since, by: by === false ? undefined : text(by) }
}

/** Without a job or a pause, a type is but a name. */
export const isKnown = ({ states, paused, pausedGroups }: TypeCounts): boolean =>
  paused !== undefined || pausedGroups.length > 0 || Object.values(states).some((number) => number > 0)
