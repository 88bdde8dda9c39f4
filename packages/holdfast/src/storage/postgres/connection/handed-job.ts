// A job that was handed over (storage/rules/job/handed.ts), as the hint carries it: its cells as they are stored, and its lease.

import { retentionOfCode } from '../../retention.ts'
import { decodeMore } from '../../rows/more.ts'
import { handedLeaseMs } from '../../rules/job/handed.ts'
import type { ClaimedJob } from '../../storage.ts'
import { decodeBytes, decodeText, numberOf } from '../sql/text.ts'

export type HandedCells = readonly [
  id: string,
  token: string,
  maxAttempts: string | null,
  keepMs: string,
  more: string | null,
  payload: string | null,
]

export type HandedLease = readonly [worker: string, label: string | null, now: number]

export function handedJob(type: string, job: HandedCells, [worker, , now]: HandedLease): ClaimedJob {
  const [id, token, maxAttempts, keepMs, more, payload] = job
  const { retention, trace, timeoutMs, weight } = decodeMore(more)
  const chain = { type, id: decodeText(id) }
  return {
    ...chain,
    worker: decodeText(worker),
    attempt: 1,
    token: decodeText(token),
    payload: decodeBytes(payload),
    failures: 0,
    snoozes: 0,
    maxAttempts: numberOf(maxAttempts),
    timeoutMs,
    priority: 0,
    group: undefined,
    weight,
    retention: retention ?? retentionOfCode(Number(keepMs)),
    trace,
    createdAt: now,
    runAt: now,
    startedAt: now,
    leaseUntil: now + handedLeaseMs,
    chain,
    chainIndex: 0,
    root: chain,
    origin: undefined,
    blockers: [],
  }
}
