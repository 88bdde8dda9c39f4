// admin.jobs.replay(): a new job of the same type, with the payload of another one or with an edited one. The old job stays as it is.

import type { Operations } from '../engine/operate/operations.ts'
import type { JobRecord, JobRef, NewJob, SearchFields } from '../storage/storage.ts'
import { parseType } from '../storage/stored-type.ts'

/** Options of admin.jobs.replay(). */
export interface ReplayOptions {
  /** What the new job is given. @default the payload of the old one, byte for byte */
  readonly payload?: unknown
}

/**
 * - `added`: the new job is stored, and due now.
 * - `unsupported`: a message of a task carries its own id, so that only the task can be enqueued again; and a job inside a chain cannot begin one.
 */
export type ReplayResult =
  | { readonly status: 'added'; readonly id: string }
  | { readonly status: 'unsupported' | 'not_found' }

/** Search field of the new job: the id of the old one. */
const replayField = 'replayOf'
/** Bounds of search fields. */
const [mostFields, longestField] = [16, 256]

export async function replay(operations: Operations, ref: JobRef, options: ReplayOptions): Promise<ReplayResult> {
  const { storage, clock, codec, whenConnected, log, publishEvent } = operations.options
  const record = await operations.get(ref, ['payload'])
  if (!record) return { status: 'not_found' }
  const { face, name } = parseType(ref.type)
  const isFirst = record.chainIndex === 0
  if (!isFirst || (face !== 'queue' && face !== 'chain')) return { status: 'unsupported' }
  const payload = Object.hasOwn(options, 'payload') ? codec.encode(options.payload) : record.payload
  const job = newJob(record, payload, clock.newId(), clock.newId())
  await whenConnected(() => storage.add([job]))
  publishEvent({ name: 'added', type: job.type, id: job.id })
  const edited = Object.hasOwn(options, 'payload') ? ' with another payload' : ''
  log(`replayed job '${ref.id}' of ${face} '${name}'${edited} as '${job.id}'`, {
    face,
    name,
    jobId: ref.id,
    newId: job.id,
  })
  return { status: 'added', id: job.id }
}

/** Without group and deduplication key: those would make it wait for, or join, other jobs. */
function newJob(record: JobRecord, payload: NewJob['payload'], id: string, token: string): NewJob {
  const { type, priority, maxAttempts, timeoutMs, retention, search = {} } = record
  const hasRoom = Object.keys(search).length < mostFields || Object.hasOwn(search, replayField)
  const link: SearchFields = hasRoom && record.id.length <= longestField ? { [replayField]: record.id } : {}
  return {
    type,
    id,
    token,
    priority,
    retention,
    search: { ...search, ...link },
    ...(payload !== undefined && { payload }),
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  }
}
