// Hints and events, as the scripts publish them.

import type { JobEvent, Signal, TopicKind } from '../storage.ts'
import { text } from './answers.ts'
import { type Unpacked, unpack } from './unpack.ts'

/** In the order of their numbers in the scripts. */
const eventNames: readonly JobEvent['event'][] = [
  'queued',
  'scheduled',
  'processing',
  'failing',
  'completed',
  'failed',
  'cancelled',
  'stalled',
  'requeued',
]

export function signalOf(kind: TopicKind, type: string, message: Buffer): Signal {
  if (kind === 'wake') return { kind, type }
  if (kind !== 'events') return { kind, type, ids: (unpack(message) as Unpacked[]).map(text) }
  const [at, events] = unpack(message) as [number, [number, Buffer, number, Buffer | false][]]
  return {
    kind,
    type,
    events: events.map(([event, id, attempt, label]) => {
      const entry = { event: eventNames[event]!, id: text(id), attempt, at }
      return label === false ? entry : { ...entry, label: text(label) }
    }),
  }
}
