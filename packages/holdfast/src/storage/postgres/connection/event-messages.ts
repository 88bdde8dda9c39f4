// Events for listeners in all processes, the sender's too: messages on a channel of their own, sent inside the transaction. So each
// listener receives the events of all processes in the order of commits.

import type { JobEvent, Signal } from '../../storage.ts'
import { channelOf, maxBytes } from './hints.ts'

export const eventChannelOf = (schema: string): string => `${channelOf(schema)}:events`

type EventJson = readonly [event: JobEvent['event'], id: string, attempt: number, at: number, label?: string]

/**
 * A message: its number, the type (absent: every type), its events (absent: some could not be sent). The number makes it unique:
 * the server sends equal messages of a transaction once.
 */
type Message = readonly [n: number, type?: string, events?: readonly EventJson[]]

/** The messages for the events of a transaction, each below the limit of a NOTIFY. */
export function encodeEvents(signals: readonly Signal[]): string[] {
  const messages: string[] = []
  const send = (type: string, events?: readonly EventJson[]): void => {
    const text = JSON.stringify([messages.length, type, events] satisfies Message)
    messages.push(Buffer.byteLength(text) <= maxBytes ? text : JSON.stringify([messages.length] satisfies Message))
  }
  for (const { type, events = [] } of signals) {
    // Brackets, the number and the type.
    const frame = Buffer.byteLength(JSON.stringify(type)) + 20
    let batch: EventJson[] = []
    let size = frame
    const flush = (): void => {
      if (batch.length > 0) send(type, batch)
      ;[batch, size] = [[], frame]
    }
    for (const { event, id, attempt, at, label } of events) {
      const entry: EventJson = label === undefined ? [event, id, attempt, at] : [event, id, attempt, at, label]
      const bytes = Buffer.byteLength(JSON.stringify(entry)) + 1
      if (size + bytes > maxBytes) flush()
      if (frame + bytes > maxBytes) send(type)
      else batch.push(entry)
      size += bytes
    }
    flush()
  }
  return messages
}

/** What a message tells: events of a type, or a gap in those of a type, or of all types. Undefined: another program's message. */
export function decodeEvents(payload: string): { readonly type?: string; readonly events?: JobEvent[] } | undefined {
  try {
    const [n, type, events] = JSON.parse(payload) as Message
    if (typeof n !== 'number') return undefined
    if (typeof type !== 'string' || !events) return typeof type === 'string' ? { type } : {}
    return {
      type,
      events: events.map(([event, id, attempt, at, label]) =>
        label === undefined ? { event, id, attempt, at } : { event, id, attempt, at, label },
      ),
    }
  } catch {
    return undefined
  }
}
