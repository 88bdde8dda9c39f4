// A batch of any size is stored in moves of at most 1,000 messages, in order, under one token. Each move is stored whole or not at
// all. The ids follow from the name of the batch, so that a call which resumes it sends the same jobs: a move whose answer was lost
// is recognised, and its messages are not added twice.
//
// A batch under one deduplication key is one move: with several, a failure between them would leave the key taken by a part.

import { readable } from '../../copy-option.ts'
import type { Clock } from '../../clock.ts'
import { engineDefaults } from '../../engine/defaults.ts'
import { BatchInterruptedError, invalidArgument, printable, StorageError, usageError } from '../../errors.ts'
import type { EnqueueReceipt } from './message-queue.ts'

/** Messages in one move of a batch without a deduplication key. */
export const moveSize: number = engineDefaults.batch

/** The most messages under one deduplication key. */
const largestKeyedBatch = 10_000

/** A batch of several moves, and how many of its messages are stored. */
export interface Batch {
  readonly name: string
  readonly accepted: number
}

export const newBatch = (clock: Clock): Batch => ({ name: clock.newId(), accepted: 0 })

export const messageIdIn = ({ name }: Batch, index: number): string => `${name}-${index}`

/** The batch as the text of `resume`. */
export const resumeText = ({ name, accepted }: Batch): string => `${name}:${accepted}`

const resumePattern = /^([\w-]{1,64}):(\d{1,15})$/

/** @param size messages of the call @throws TypeError INVALID_ARGUMENT */
export function batchOf(resume: string, size: number): Batch {
  const [, name, accepted] = resumePattern.exec(resume) ?? []
  if (name === undefined || Number(accepted) > size) {
    throw invalidArgument('resume', 'the resume of a BATCH_INTERRUPTED error, with the messages of that call', resume)
  }
  return { name, accepted: Number(accepted) }
}

/** A copy of the messages: the caller's array may change before they are sent. @throws TypeError INVALID_PAYLOADS, INVALID_ARGUMENT */
export function batchItems(name: string, messages: unknown): readonly unknown[] {
  if (readable(name, () => Array.isArray(messages))) return readable(name, () => Array.from(messages as unknown[]))
  throw usageError('INVALID_PAYLOADS', `${name}: expected an array, got ${printable(messages)}`)
}

/** @throws TypeError BATCH_TOO_LARGE, INVALID_ARGUMENT */
export function checkKeyedBatch(size: number, resume: string | undefined): void {
  if (size > largestKeyedBatch) {
    const message = `messages: expected at most ${largestKeyedBatch} under one deduplication key, got ${size}. Nothing was sent. Send several batches, each with a key of its own.`
    throw usageError('BATCH_TOO_LARGE', message, { size, limit: largestKeyedBatch })
  }
  if (resume !== undefined) {
    throw invalidArgument('resume', 'no deduplicationKey beside it: such a batch is stored whole or not at all', resume)
  }
}

/** What the sender throws when a move of several failed. */
export class MoveFailed extends Error {
  /** Messages of the call that the moves before have stored. */
  readonly stored: number

  constructor(stored: number, cause: unknown) {
    super('a move of a batch failed', { cause })
    this.stored = stored
  }
}

/**
 * Sends what is missing of a batch.
 * @param ids of all its messages @param send sends the messages from an index on; rejects with MoveFailed, or nothing was sent
 * @throws BatchInterruptedError
 */
export async function sendBatch(
  batch: Batch,
  ids: readonly string[],
  send: (from: number) => Promise<EnqueueReceipt>,
): Promise<EnqueueReceipt> {
  const { name, accepted: from } = batch
  if (from === ids.length) return { status: 'enqueued', ids }
  try {
    const { duplicates, ...receipt } = await send(from)
    return { ...receipt, ids, ...(duplicates && { duplicates: duplicates.map((index) => index + from) }) }
  } catch (error) {
    const [stored, cause] = error instanceof MoveFailed ? [error.stored, error.cause] : [0, error]
    const accepted = from + stored
    // Nothing is stored, and nothing may be: there is no batch to resume.
    if (accepted === 0 && !(cause instanceof StorageError && cause.maybeApplied)) throw cause
    throw new BatchInterruptedError(accepted, ids.length, cause, resumeText({ name, accepted }))
  }
}
