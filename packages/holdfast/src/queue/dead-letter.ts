// Dead letters: a job that failed for good adds a job to another queue, with what is known of it.

import type { Clock } from '../clock.ts'
import { encodeValue } from '../engine/job/values.ts'
import { decode, type Serde } from '../engine/job/serde.ts'
import type { FailedJob } from '../engine/work/dead-letters.ts'
import { decodeError, encodeError } from '../error-details.ts'
import type { ErrorDetails } from '../errors.ts'
import type { Bytes, NewJob, Retention } from '../storage/storage.ts'

/** Payload of a job in a dead letter queue. Its id is the id of the job that failed. */
export interface DeadLetter<TPayload = unknown> {
  /** Id of the job that failed. */
  readonly id: string
  /** Name of its queue. */
  readonly queue: string
  /** Its payload; the stored bytes, if they cannot be decoded, or if the default codec cannot store the decoded value. */
  readonly payload: TPayload
  /** Error of its last run. */
  readonly error: ErrorDetails
  /** Runs that failed. */
  readonly attempts: number
  /** When it failed, in epoch ms. */
  readonly failedAt: number
}

interface Lettering {
  readonly name: string
  /** Stored type of the dead letter queue. */
  readonly deadLetterType: string
  readonly payloadSerde: Serde<unknown>
  readonly retention: Retention
  readonly clock: Clock
}

/** The job for the dead letter queue. Never throws. */
export function deadLetterOf(failed: FailedJob, lettering: Lettering): NewJob {
  const { name, deadLetterType, retention, clock } = lettering
  const { id, attempts, failedAt } = failed
  const error = decodeError(encodeError(failed.error))
  const letter = (payload: unknown): DeadLetter => ({ id, queue: name, payload, error, attempts, failedAt })
  return {
    type: deadLetterType,
    id,
    token: clock.newId(),
    payload: encoded(failed.payload, letter, lettering),
    retention,
  }
}

function encoded(
  bytes: Bytes | undefined,
  letter: (payload: unknown) => DeadLetter,
  { payloadSerde }: Lettering,
): Bytes {
  try {
    return encodeValue(letter(decode('payload', payloadSerde, bytes)))
  } catch {
    return encodeValue(letter(bytes && Uint8Array.from(bytes)))
  }
}
