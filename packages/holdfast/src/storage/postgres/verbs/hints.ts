// Hints leave with the commit that they tell of, as one NOTIFY of the schema's channel. Who sent them has told its own
// listeners already, if it saw the commit.

import { createHash } from 'node:crypto'
import type { Signal, TopicKind } from '../../storage.ts'

/** Channels are of the whole database, and their names are short. */
export const channelOf = (schema: string): string =>
  `holdfast:${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`

/** Of a NOTIFY's 8,000 bytes. */
const mostBytes = 7_900

type Hint = readonly [kind: TopicKind, type: string, ids?: readonly string[]]
interface Message {
  /** Who has told its own listeners. */
  readonly from?: string
  readonly hints?: readonly Hint[]
}

const hintOf = ({ kind, type, ids }: Signal): Hint => (ids ? [kind, type, ids] : [kind, type])

/** Undefined: there is nothing to tell. Too much is told as "look at this", or as "look at everything". */
export function encodeHints(signals: readonly Signal[], from: string | undefined): string | undefined {
  if (signals.length === 0) return undefined
  const tries: Message[] = [
    { from, hints: signals.map(hintOf) },
    { from, hints: signals.map(({ kind, type }) => [kind, type]) },
    { from },
  ]
  for (const message of tries) {
    const text = JSON.stringify(message)
    if (Buffer.byteLength(text) <= mostBytes) return text
  }
  return undefined
}

/** `all`: anything may have happened. Undefined: we sent it, and have told of it. */
export function decodeHints(payload: string, self: string): readonly Signal[] | 'all' | undefined {
  // Nearly all that a busy process hears is its own.
  if (payload.startsWith(`{"from":"${self}"`)) return undefined
  try {
    const { hints } = JSON.parse(payload) as Message
    return hints ? hints.map(([kind, type, ids]) => (ids ? { kind, type, ids } : { kind, type })) : 'all'
  } catch {
    // Not one of ours.
    return 'all'
  }
}
