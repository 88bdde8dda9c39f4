// A call to enqueueMany: its items, and the moves that add them.
// Invariant: every item is checked before the first is added, and the items are added in order. So the accepted items are always the
// first ones, and their number says where a call stopped.

import type { Clock } from '../clock.ts'
import type { Draft } from '../engine/job/adder.ts'
import { engineDefaults } from '../engine/defaults.ts'
import type { AddLimits } from '../engine/limits/add-limits.ts'
import { BatchInterruptedError, invalidArgument, isHoldfastError } from '../errors.ts'
import { listOf } from '../option-checks.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { AddVerdict, NewJob } from '../storage/storage.ts'
import { type DraftOptions, draftOf, limited } from './draft.ts'
import type { JobOptions } from './enqueue.ts'
import { bulkItemOptions } from './options.ts'

/** One job of enqueueMany(): its id and payload, and the options of enqueue() for it. `onDuplicate: 'reject'` is not for batches. */
export interface EnqueueItem<TPayload> extends Omit<JobOptions, 'onDuplicate'> {
  /** Required. */
  readonly id: string
  /** Payload of the job. */
  readonly payload: TPayload
  /** As for enqueue(). Every item has an answer, so there is no `reject`. @default 'return' */
  readonly onDuplicate?: 'return' | 'replace' | undefined
}

/** Options of enqueueMany(). @typeParam Tx transaction of the storage; never: it has none */
export interface EnqueueManyOptions<Tx = unknown> {
  /** Transaction of the storage that all items join, as that of enqueue(). */
  readonly tx?: Tx | undefined
}

/** Makes the jobs of all items. @throws as draftOf(), with the path of the item */
export function draftsOf<P>(items: readonly EnqueueItem<P>[], queue: DraftOptions<P>): Draft[] {
  return (listOf('items', items) as EnqueueItem<P>[]).map((item, index) => {
    try {
      if (item === undefined) throw invalidArgument('id', 'an item with id and payload', item)
      const given = resolveOptions(`items[${index}]`, item, bulkItemOptions)
      return draftOf(given.id, given.payload as P, given, queue)
    } catch (error) {
      throw atItem(error, index)
    }
  })
}

/** Applies the limits of the queue to every item. @throws TypeError INVALID_ARGUMENT for a job that is too heavy, with its path */
export function limitAll(drafts: readonly Draft[], limits: AddLimits, clock: Pick<Clock, 'newId'>): void {
  drafts.forEach((draft, index) => {
    try {
      limited(draft, limits, clock)
    } catch (error) {
      throw atItem(error, index)
    }
  })
}

/** An error of ours says which item it is about. One that the user's code threw is passed on as it is. */
function atItem(error: unknown, index: number): unknown {
  const isOurs = isHoldfastError(error) || (error as { code?: unknown } | null)?.code === 'INVALID_ARGUMENT'
  if (!isOurs) return error
  const ours = error as Error
  if (!ours.message.startsWith('items[')) ours.message = `items[${index}].${ours.message}`
  return Object.assign(ours, { index })
}

/**
 * Adds the jobs in moves of at most 1,000, each atomic.
 * @param add one move @param isAtomic the moves are one: they are all in one transaction
 * @throws what a move failed with; BatchInterruptedError if others are in
 */
export async function addInMoves(
  drafts: readonly Draft[],
  isAtomic: boolean,
  newToken: () => string,
  add: (jobs: readonly NewJob[]) => Promise<AddVerdict[]>,
): Promise<AddVerdict[]> {
  const verdicts: AddVerdict[] = []
  while (verdicts.length < drafts.length) {
    const move = drafts.slice(verdicts.length, verdicts.length + engineDefaults.batch)
    // One token per move: it names the call to the storage, and a repeat of it is recognised.
    const token = newToken()
    for (const draft of move) draft.token ??= token
    try {
      verdicts.push(...(await add(move as NewJob[])))
    } catch (error) {
      throw verdicts.length === 0 || isAtomic ? error : new BatchInterruptedError(verdicts.length, drafts.length, error)
    }
  }
  return verdicts
}
