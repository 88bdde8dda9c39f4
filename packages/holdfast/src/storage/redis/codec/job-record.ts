// Records as lua/get.ts answers them.

import { outcomeNames } from '../../rules/job/codes.ts'
import type { AttemptRecord, JobRecord, Log, LogLine } from '../../storage.ts'
import { type List, optional, optionalText, reasonOf, refOf, retentionOf, stateOf, text } from './fields.ts'
import { unpackSearch } from './search.ts'
import type { Unpacked } from './unpack.ts'

export function jobRecord(answer: Unpacked): JobRecord {
  const at = answer as List
  const tail = at[34]!
  const record: JobRecord = {
    type: text(at[0]),
    id: text(at[1]),
    token: text(at[2]),
    state: stateOf(at[3]),
    reason: reasonOf(at[4]),
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
    tail: tail === true || tail === false ? undefined : jobRecord(tail),
    timeoutMs: optional<number>(at[35]),
    deadlineAt: optional<number>(at[36]),
    search: at[37] ? unpackSearch(at[37] as Buffer) : undefined,
    progress: optional<Buffer>(at[38]),
    log: at[39] ? logOf(at[39] as List) : undefined,
    weight: optional<number>(at[40]),
  }
  return tail === true ? { ...record, tail: record } : record
}

/** The number of dropped lines, then for each line its attempt (4 bytes), its `at` (8, a double) and the line. */
function logOf([dropped, entries]: List): Log {
  const lines = (entries as Buffer[]).map((entry): LogLine => ({
    attempt: entry.readUInt32BE(0),
    at: entry.readDoubleBE(4),
    line: entry.subarray(12),
  }))
  return { lines, dropped: dropped as number }
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
