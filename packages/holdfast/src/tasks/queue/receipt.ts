// The receipt of an enqueue, made of the storage's verdicts.

import type { AddVerdict, JobState } from '../../storage/storage.ts'
import type { EnqueueReceipt } from './message-queue.ts'

/** @param verdicts of one call: all duplicates of one key, or each added or a duplicate of its own id */
export function receiptOf(verdicts: readonly AddVerdict[]): EnqueueReceipt {
  const [first] = verdicts
  // Only a message alone in its call has a mode.
  if (first?.verdict === 'stale') return { status: 'stale', deduplicated: true, ids: [], version: first.version }
  if (first?.verdict === 'replaced') return { status: 'replaced', ids: [first.job.id], state: first.job.state }
  const ids: string[] = []
  // Nearly every call has none.
  let duplicates: number[] | undefined
  let state: JobState | undefined
  for (let index = 0; index < verdicts.length; index++) {
    const verdict = verdicts[index]!
    if (!('job' in verdict)) continue
    ids.push(verdict.job.id)
    if (verdict.verdict !== 'duplicate') continue
    state ??= verdict.job.state
    duplicates ??= []
    duplicates.push(index)
  }
  if (duplicates === undefined) return { status: 'enqueued', ids }
  if (duplicates.length < verdicts.length) return { status: 'enqueued', ids, duplicates }
  return { status: 'duplicate', deduplicated: true, ids: [...new Set(ids)], state }
}
