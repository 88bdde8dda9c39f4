// Hints and events, as the scripts publish them.

import type { Bytes, JobEvent, Signal, TopicKind } from '../../storage.ts'
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

/** Of one that completed: id, token and result. */
type Told = [Unpacked, Unpacked, Buffer | false]

export function signalOf(kind: TopicKind, type: string, message: Buffer): Signal {
  if (kind === 'wake') return { kind, type }
  if (kind !== 'events') return jobsSignal(kind, type, unpack(message) as (Unpacked | Told)[])
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

function jobsSignal(kind: TopicKind, type: string, list: readonly (Unpacked | Told)[]): Signal {
  const completed: { id: string; token: string; result: Bytes | undefined }[] = []
  const ids = list.map((entry) => {
    if (!Array.isArray(entry)) return text(entry)
    const [id, token, result] = entry as Told
    completed.push({ id: text(id), token: text(token), result: result === false ? undefined : result })
    return text(id)
  })
  return completed.length === 0 ? { kind, type, ids } : { kind, type, ids, completed }
}
