// admin.jobs.add(): a new job of a queue, with the value codec. Chains and tasks are started by code, which knows their types.

import { setWhen } from '../engine/job/job-options.ts'
import type { Operations } from '../engine/operate/operations.ts'
import { refusalOf } from '../engine/limits/add-limits.ts'
import { queueRetention } from '../engine/job/retention.ts'
import { invalidArgument } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { NewJob } from '../storage/storage.ts'
import { addJobOptions, type NamedType, typeOf } from './options.ts'

/** Options of jobs.add(). */
export interface AddJobOptions {
  /** Id of the job, 1 … 512 bytes. @default a new UUID */
  readonly id?: string | undefined
  /** What the handler is given. @default undefined */
  readonly payload?: unknown
  /** Delay before the job is due, in ms of the storage's clock. Not together with runAt. @default 0 */
  readonly delayMs?: number | undefined
  /** Instant at which the job is due: epoch ms, or a Date. @default now */
  readonly runAt?: number | Date | undefined
  /** Integer -100 … 100; a higher one runs first. @default 0 */
  readonly priority?: number | undefined
  /** Key of the group of the job. @default none */
  readonly group?: string | undefined
  /** Most runs, the first included. @default that of the worker */
  readonly maxAttempts?: number | undefined
}

/** `duplicate`: a job has this id, and nothing was changed. */
export interface AddJobResult {
  readonly status: 'added' | 'duplicate'
  readonly id: string
}

export async function addJob(operations: Operations, target: NamedType, given?: AddJobOptions): Promise<AddJobResult> {
  const type = typeOf('type', target)
  if (target.face !== 'queue') throw invalidArgument('type.face', "'queue': code starts chains and tasks", target.face)
  const options = resolveOptions('jobs.add', given, addJobOptions)
  const { storage, clock, codec, whenConnected, log, publishEvent } = operations.options
  const { id = clock.newId(), group, priority, maxAttempts } = options
  const payload = codec.encode(options.payload)
  const job: NewJob = {
    type,
    id,
    token: clock.newId(),
    retention: queueRetention,
    ...setWhen({}, options),
    ...(payload !== undefined && { payload }),
    ...(priority !== undefined && { priority }),
    ...(group !== undefined && { group: { key: group } }),
    ...(maxAttempts !== undefined && { maxAttempts }),
  }
  const [verdict] = await whenConnected(() => storage.add([job]))
  if (verdict!.verdict === 'duplicate') return { status: 'duplicate', id }
  const refusal = refusalOf(verdict!, job)
  if (refusal) throw refusal
  publishEvent({ name: 'added', type, id })
  log(`added job '${id}' to queue '${target.name}'`, { ...target, jobId: id })
  return { status: 'added', id }
}
