// A job of a claim's answer: its record (record.ts), then its payload if that has a key of its own, then the results of its
// blockers if it has some.

import type { ClaimedJob } from '../../storage.ts'
import { type List, optional, optionalText, refOf, retentionOf } from './fields.ts'
import { flags } from './record.ts'
import { type Unpacked, Unpacker } from './unpack.ts'

const noBlockers: ClaimedJob['blockers'] = []

type Lease = Pick<ClaimedJob, 'worker' | 'attempt' | 'startedAt' | 'leaseUntil'>

/** @param held the lease, if the record does not have it (lua/move/held.ts) */
export function claimedJob(type: string, id: string, record: Buffer, held?: Lease): ClaimedJob {
  const answer = new Unpacker(record)
  const head = readHead(answer)
  const size = answer.list()
  const token = answer.text()
  const priority = answer.next() as number
  const maxAttempts = answer.next()
  const retention = retentionOf(answer.next())
  const inline = answer.next()
  // What few jobs have.
  const more = size > 5 ? Array.from({ length: size - 5 }, () => answer.next()) : undefined
  const extras = head.hasExtras ? (answer.next() as { [key: string]: Unpacked }) : undefined
  const lease = held ?? readLease(answer)
  const payload = inline === true ? answer.next() : inline
  const chain = extras?.c ? refOf(extras.c) : { type, id }
  return {
    type,
    id,
    worker: lease.worker,
    attempt: lease.attempt,
    token,
    payload: optional<Buffer>(payload),
    failures: head.failures,
    snoozes: (extras?.s as number | undefined) ?? 0,
    maxAttempts: optional<number>(maxAttempts),
    timeoutMs: optional<number>(more?.[3]),
    priority,
    group: optionalText(more?.[1]),
    weight: optional<number>(more?.[5]),
    retention,
    trace: optionalText(more?.[0]),
    createdAt: head.createdAt,
    runAt: head.runAt,
    startedAt: lease.startedAt,
    leaseUntil: lease.leaseUntil,
    error: extras?.e as Buffer | undefined,
    chain,
    chainIndex: (extras?.i as number | undefined) ?? 0,
    root: extras?.ro ? refOf(extras.ro) : chain,
    origin: extras?.o ? refOf(extras.o) : undefined,
    blockers: extras?.b
      ? (answer.next() as List[]).map((item) => ({ ...refOf(item), result: optional<Buffer>(item[2]) }))
      : noBlockers,
  }
}

/** The fields before the body. */
function readHead(from: Unpacker) {
  const { buffer } = from
  const bits = buffer[from.skip(1)]!
  const failures = buffer.readUIntBE(from.skip(3), 3)
  const createdAt = buffer.readUIntBE(from.skip(6), 6)
  const runAt = (bits & flags.later) === 0 ? createdAt : buffer.readDoubleBE(from.skip(8))
  return { failures, createdAt, runAt, hasExtras: (bits & flags.extras) !== 0 }
}

/** The fields after the body and the extras: order, attempt and state as they were before the claim, then the lease. */
function readLease(from: Unpacker): Lease {
  const { buffer } = from
  const workerLength = buffer.readUInt16BE(from.skip(13) + 11) - 1
  const labelLength = buffer.readUInt16BE(from.skip(2)) - 1
  if (labelLength > 0) from.skip(labelLength)
  const startedAt = buffer.readUIntBE(from.skip(6), 6)
  const leaseUntil = buffer.readDoubleBE(from.skip(8))
  const worker = from.bytes(workerLength).toString()
  const attempt = buffer.readUInt32BE(from.skip(7))
  return { worker, startedAt, leaseUntil, attempt }
}
