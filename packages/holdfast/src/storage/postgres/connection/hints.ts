// Hints to other processes: one NOTIFY per call on the schema's channel, sent inside the transaction, so that it arrives with the
// commit. The sender notifies its own listeners directly, and ignores its own message.

import { createHash } from 'node:crypto'
import type { Signal, TopicKind } from '../../storage.ts'
import { type HandedCells, handedJob, type HandedLease } from './handed-job.ts'

/** Channels belong to the whole database, and their names are limited to 63 bytes: hence a hash of the schema. */
export const channelOf = (schema: string): string =>
  `holdfast:${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`

/** Below the 8,000 bytes that a NOTIFY can carry. */
export const maxBytes = 7_900

type Hint = readonly [kind: TopicKind, type: string, ids?: readonly string[]]
interface Message {
  /** Instance that has notified its own listeners. Absent: every instance must act on the message. */
  readonly from?: string
  /** Absent: anything may have changed. */
  readonly hints?: readonly Hint[]
  /** A job that was handed over: then the hint is that of its type. */
  readonly job?: HandedCells
  readonly lease?: HandedLease
}

const hintOf = ({ kind, type, ids }: Signal): Hint => (ids ? [kind, type, ids] : [kind, type])

/** Undefined: no signals. What is too long is sent without ids; if that is too long as well, without hints. */
export function encodeHints(signals: readonly Signal[], from: string | undefined): string | undefined {
  if (signals.length === 0) return undefined
  const candidates: Message[] = [
    { from, hints: signals.map(hintOf) },
    { from, hints: signals.map(({ kind, type }) => [kind, type]) },
    { from },
  ]
  for (const message of candidates) {
    const text = JSON.stringify(message)
    if (Buffer.byteLength(text) <= maxBytes) return text
  }
  return undefined
}

/** The message for a job that is handed over, up to its lease: the statement appends that, as JSON, and a closing brace. */
export const encodeHandedHint = (type: string, from: string | undefined, job: HandedCells): string =>
  `${JSON.stringify({ from, hints: [['wake', type]], job } satisfies Message).slice(0, -1)},"lease":`

/** `all`: anything may have changed. Undefined: this instance sent it, and has notified its listeners. */
export function decodeHints(payload: string, self: string): readonly Signal[] | 'all' | undefined {
  // Without parsing: nearly all messages that a busy process receives are its own.
  if (payload.startsWith(`{"from":"${self}"`)) return undefined
  try {
    const { hints, job, lease } = JSON.parse(payload) as Message
    if (job && lease) return hints!.map(([kind, type]) => ({ kind, type, handed: handedJob(type, job, lease) }))
    return hints ? hints.map(([kind, type, ids]) => (ids ? { kind, type, ids } : { kind, type })) : 'all'
  } catch {
    // Another program's message.
    return 'all'
  }
}
