// A record of the storage as people read it: the whole job, decoded. Every face and the admin handle show the same.
// Invariant: bytes that cannot be decoded never make it throw. They are shown as they are, with the reason.

import { decodeError } from '../../error-details.ts'
import type { ErrorDetails } from '../../errors.ts'
import type { AttemptRecord, Bytes, EndReason, JobRecord, JobState, SearchFields } from '../../storage/storage.ts'
import { parseType } from '../../storage/stored-type.ts'
import { errorOf } from './job-error.ts'
import { decode, type Serde } from './serde.ts'
import { ValueSerde } from './values.ts'

/** A whole job: what get() returns. Instants are epoch ms. An absent field means that there is no such value. */
export interface JobView<TPayload = unknown, TResult = unknown> {
  /** Face of the job: `queue`, `chain`, `task` and so on. */
  readonly face: string
  /** Name of the queue, job type or task queue. */
  readonly name: string
  /** Id of the job. */
  readonly id: string
  /** Where the job is. */
  readonly state: JobState
  /** Why the storage itself ended the job. */
  readonly reason?: EndReason
  /** Payload of the job. Absent if it cannot be decoded: see `undecodable`. */
  readonly payload?: TPayload
  /** Only of a completed job. `undefined` is a result too. */
  readonly result?: TResult
  /** The latest error of a job that is not completed. */
  readonly error?: ErrorDetails
  /** The last value that a run reported by progress(). */
  readonly progress?: unknown
  /** The parts that could not be decoded. */
  readonly undecodable?: Readonly<Partial<Record<DecodedPart, Undecodable>>>
  /** Runs begun; released ones do not count. */
  readonly attempts: number
  /** Most runs, the first included. Absent: the worker decides. */
  readonly maxAttempts?: number
  /** Runs that were put off by snooze(). */
  readonly snoozes: number
  /** The last 10 runs that have ended, oldest first. */
  readonly history: readonly AttemptView[]
  /** Name of the worker that runs the job, or ran it last. */
  readonly workerId?: string
  /** When the job was accepted. */
  readonly createdAt: number
  /** When it is, was or would be due. */
  readonly runAt: number
  /** When a first run must have begun (`expiresInMs`). Absent after it began. */
  readonly deadlineAt?: number
  /** When its last run began. */
  readonly startedAt?: number
  /** When the lease of the run ends, unless a heartbeat renews it. Only while processing. */
  readonly leaseUntil?: number
  /** When the job ended. */
  readonly finishedAt?: number
  /** When its record expires. */
  readonly expiresAt?: number
  /** -100 … 100; a higher one runs first. */
  readonly priority: number
  /** Key of its group. */
  readonly group?: string
  /** What its start takes of a rate. Absent: 1. */
  readonly weight?: number
  /** Its deduplication key. */
  readonly deduplicationKey?: string
  /** Fields by which lists find it. */
  readonly search?: SearchFields
  /** Longest run, in ms. Absent: the worker decides. */
  readonly timeoutMs?: number
  /** Whether its run was asked to stop. */
  readonly cancelling?: true
  /** The reason that cancel() was given. */
  readonly cancelReason?: string
}

/** A run that has ended. */
export interface AttemptView {
  /** Number of the run, from 1, released ones included. */
  readonly attempt: number
  /** Name of its worker. */
  readonly workerId?: string
  /** When the run began, in epoch ms. */
  readonly startedAt: number
  /** When it ended, in epoch ms. */
  readonly endedAt: number
  /** `stalled`: its lease was lost. `cancelled`: the job was cancelled by force. The others are what the worker said. */
  readonly outcome: AttemptRecord['outcome']
  /** The state that the job reached by it. */
  readonly state: JobState
  /** What it threw. */
  readonly error?: ErrorDetails
}

export type DecodedPart = 'payload' | 'result' | 'progress'

/** A part of a record that could not be decoded. */
export interface Undecodable {
  readonly bytes: Uint8Array
  /** What the serde said. */
  readonly reason: string
}

/** The parts of a record that jobViewOf() reads. */
export const viewParts = ['payload', 'result', 'error', 'attempts', 'progress'] as const

interface Decoding<P, R> {
  readonly payloadSerde: Serde<P>
  readonly resultSerde: Serde<R>
  /** For jobs that do not set it. */
  readonly maxAttempts?: number
}

/** Makes the view of a record that was read with `viewParts`. */
export function jobViewOf<P, R>(record: JobRecord, decoding: Decoding<P, R>): JobView<P, R> {
  return present({
    ...parseType(record.type),
    id: record.id,
    state: record.state,
    reason: record.reason,
    ...decodedParts(record, decoding),
    error: hasError(record) ? errorOf(record) : undefined,
    attempts: attemptsOf(record),
    maxAttempts: record.maxAttempts ?? decoding.maxAttempts,
    snoozes: record.snoozes,
    history: (record.attempts ?? []).map(attemptViewOf),
    workerId: record.label,
    createdAt: record.createdAt,
    runAt: record.runAt,
    deadlineAt: record.deadlineAt,
    startedAt: record.startedAt,
    leaseUntil: record.leaseUntil,
    finishedAt: record.finishedAt,
    expiresAt: record.expiresAt,
    priority: record.priority,
    group: record.group,
    weight: record.weight,
    deduplicationKey: record.deduplicationKey,
    search: record.search,
    timeoutMs: record.timeoutMs,
    cancelling: record.cancelling ? true : undefined,
    cancelReason: record.cancelReason,
  })
}

export function attemptViewOf({
  attempt,
  label,
  startedAt,
  endedAt,
  outcome,
  state,
  error,
}: AttemptRecord): AttemptView {
  return present({
    attempt,
    workerId: label,
    startedAt,
    endedAt,
    outcome,
    state,
    error: error && decodeError(error),
  })
}

const progressSerde = new ValueSerde<unknown>()

function decodedParts<P, R>(
  { state, payload, result, progress }: JobRecord,
  { payloadSerde, resultSerde }: Decoding<P, R>,
): Pick<JobView<P, R>, DecodedPart | 'undecodable'> {
  const undecodable: Partial<Record<DecodedPart, Undecodable>> = {}
  const decoded = <T>(part: DecodedPart, serde: Serde<T>, bytes: Bytes | undefined): T | undefined => {
    try {
      return decode(part === 'result' ? 'result' : 'payload', serde, bytes)
    } catch (error) {
      // A copy: the storage's bytes are read-only.
      undecodable[part] = { bytes: Uint8Array.from(bytes!), reason: (error as Error).message }
      return undefined
    }
  }
  const parts = {
    payload: decoded('payload', payloadSerde, payload),
    result: state === 'completed' ? decoded('result', resultSerde, result) : undefined,
    progress: decoded('progress', progressSerde, progress),
  }
  return Object.keys(undecodable).length > 0 ? { ...parts, undecodable } : parts
}

/** The progress of a record, for the faces that show a job in words of their own. Absent: none, or it cannot be decoded. */
export function progressOf({ progress }: JobRecord): Pick<JobView, 'progress'> {
  try {
    return progress === undefined ? {} : { progress: decode('progress', progressSerde, progress) }
  } catch {
    return {}
  }
}

/** Whether a record that was read with its error has one. */
export const hasError = ({ state, error }: JobRecord): boolean =>
  state !== 'completed' && (error !== undefined || state === 'failed')

/** Failures, and the run that is in progress or succeeded. */
export function attemptsOf({ state, failures }: JobRecord): number {
  return failures + (state === 'processing' || state === 'completed' ? 1 : 0)
}

/** Without the keys whose value is undefined. */
export function present<T extends object>(view: T): T {
  for (const key of Object.keys(view) as (keyof T)[]) if (view[key] === undefined) delete view[key]
  return view
}
