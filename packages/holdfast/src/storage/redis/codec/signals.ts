// Hints and events, as the scripts publish them.

import type { Bytes, ClaimedJob, JobEvent, Signal, TopicKind } from '../../storage.ts'
import { eventCodes, wordsOf } from './codes.ts'
import { claimedJob } from './claimed-job.ts'
import { text } from './fields.ts'
import { type Unpacked, unpack } from './unpack.ts'

const eventNames: ReadonlyMap<number, JobEvent['event']> = wordsOf(eventCodes)

/** A completed job: id, token and result. */
type Completed = [Unpacked, Unpacked, Buffer | false]

export function signalOf(kind: TopicKind, type: string, message: Buffer): Signal {
  if (kind === 'wake') return message.length === 0 ? { kind, type } : { kind, type, handed: handedJob(type, message) }
  if (kind !== 'events') return jobsSignal(kind, type, unpack(message) as (Unpacked | Completed)[])
  const [at, events] = unpack(message) as [number, [number, Buffer, number, Buffer | false][]]
  return {
    kind,
    type,
    events: events.map(([event, id, attempt, label]) => {
      const entry = { event: eventNames.get(event)!, id: text(id), attempt, at }
      return label === false ? entry : { ...entry, label: text(label) }
    }),
  }
}

/** Its id and its record, one after the other. */
function handedJob(type: string, message: Buffer): ClaimedJob {
  const [id, record] = unpack(message) as [Buffer, Buffer]
  return claimedJob(type, text(id), record)
}

/** Each entry is an id, or a completed job. */
function jobsSignal(kind: TopicKind, type: string, list: readonly (Unpacked | Completed)[]): Signal {
  const completed: { id: string; token: string; result: Bytes | undefined }[] = []
  const ids = list.map((entry) => {
    if (!Array.isArray(entry)) return text(entry)
    const [id, token, result] = entry as Completed
    completed.push({ id: text(id), token: text(token), result: result === false ? undefined : result })
    return text(id)
  })
  return completed.length === 0 ? { kind, type, ids } : { kind, type, ids, completed }
}
