// The receipt of an enqueue, made of the storage's verdicts.

import type { AddVerdict } from '../../storage/storage.ts'
import type { EnqueueReceipt } from './message-queue.ts'

/** @param verdicts of one call: all added, or all duplicates of one key */
export function receiptOf(verdicts: readonly AddVerdict[]): EnqueueReceipt {
  const ids: string[] = []
  for (const verdict of verdicts) if (verdict.verdict === 'added') ids.push(verdict.job.id)
  if (ids.length > 0) return { status: 'enqueued', ids }
  const standing = verdicts.flatMap((verdict) => (verdict.verdict === 'duplicate' ? [verdict.job] : []))
  const state = standing[0]?.state
  return { status: 'duplicate', deduplicated: true, ids: [...new Set(standing.map(({ id }) => id))], state }
}
