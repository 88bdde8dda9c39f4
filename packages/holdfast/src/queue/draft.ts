// The job for the storage that a call to enqueue becomes. Everything about it is checked here, before anything is connected.

import type { Clock } from '../clock.ts'
import type { Draft } from '../engine/job/adder.ts'
import { replacesPayload } from '../engine/job/deduplication.ts'
import { type AddLimits, mayBeRefused } from '../engine/limits/add-limits.ts'
import { setSharedFields } from '../engine/job/job-options.ts'
import { retainedBy } from '../engine/job/retention.ts'
import { checkedSearch, type GivenFields, type SearchFieldTypes } from '../engine/job/search-fields.ts'
import { encode, type Serde } from '../engine/job/serde.ts'
import { invalidArgument } from '../errors.ts'
import { checkId } from '../option-checks.ts'
import { evenRetention } from '../storage/retention.ts'
import type { Retention } from '../storage/storage.ts'
import type { JobOptions } from './enqueue.ts'

/** The options of a queue that its jobs depend on. */
export interface DraftOptions<P> {
  readonly type: string
  readonly payloadSerde: Serde<P>
  readonly maxPayloadBytes: number
  readonly maxAttempts: number
  readonly retention: Retention
  readonly searchFields?: SearchFieldTypes | undefined
  readonly search?: ((payload: P) => GivenFields) | undefined
  readonly clock: Pick<Clock, 'newId'>
}

/**
 * Makes a job. Its token comes from the batch that it joins, unless it replaces another job or its payload.
 * @throws TypeError INVALID_ARGUMENT, SerializationError, TOO_LARGE, and what the `search` of the queue throws
 */
export function draftOf<P>(id: string, payload: P, options: JobOptions | undefined, queue: DraftOptions<P>): Draft {
  // Other libraries make the id themselves, so that a payload is the likeliest thing to find here.
  if (typeof id !== 'string')
    throw invalidArgument('id', 'a string, as in enqueue(id, payload) with the id of generateId()', id)
  checkId(id)
  const { type, maxAttempts, retention } = queue
  const bytes = encode('payload', queue.payloadSerde, payload, queue.maxPayloadBytes)
  const draft: Draft = { type, id, token: undefined, payload: bytes, maxAttempts, retention }
  if (options) setOptions(draft, options, queue.clock)
  if (queue.search || draft.search) setSearch(draft, payload, queue)
  return draft
}

/** Sets what the limits of the queue mean for the job, before it is added. @throws TypeError INVALID_ARGUMENT for a job that is too heavy */
export function limited(draft: Draft, limits: AddLimits, clock: Pick<Clock, 'newId'>): Draft {
  limits.apply(draft)
  if (mayBeRefused(draft)) draft.token ??= clock.newId()
  return draft
}

function setOptions(draft: Draft, options: JobOptions, clock: Pick<Clock, 'newId'>): void {
  if (options.maxAttempts !== undefined) draft.maxAttempts = options.maxAttempts
  if (options.resultTTL !== undefined) draft.retention = evenRetention(options.resultTTL)
  if (options.retention !== undefined) draft.retention = retainedBy(options.retention, draft.retention)
  if (options.onDuplicate === 'replace') {
    draft.onDuplicate = 'replace'
    // Of its own: the storage would take a second job of this id in the batch for a repeat of the first, and not replace it.
    draft.token = clock.newId()
  }
  setSharedFields(draft, options)
  if (draft.deduplication && replacesPayload(draft.deduplication)) draft.token ??= clock.newId()
}

/** Fields that the call gives win over those of the queue's function. */
function setSearch<P>(draft: Draft, payload: P, { search, searchFields }: DraftOptions<P>): void {
  const own = search && checkedSearch('search()', search(payload), searchFields)
  const given = draft.search && checkedSearch('search', draft.search, searchFields)
  draft.search = own && given ? { ...own, ...given } : (given ?? own)
}
