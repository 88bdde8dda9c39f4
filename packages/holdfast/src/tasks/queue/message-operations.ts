// What operators do with the messages of a queue: count, list, read, revive and cancel them.

import type { Clock } from '../../clock.ts'
import { engineDefaults } from '../../engine/defaults.ts'
import type { GuardedStorage } from '../../engine/guard.ts'
import { type CancelOptions, cancelOptions, type CancelResult, cancelResult } from '../../engine/operate/cancel.ts'
import type { Serde } from '../../engine/job/serde.ts'
import { checkId, checkText, listOf } from '../../option-checks.ts'
import { resolveOptions } from '../../resolve-options.ts'
import type { ReviveVerdict } from '../../storage/storage.ts'
import { cancelledWithin } from './cancel-message.ts'
import {
  type FailedMessage,
  failedMessage,
  type MessageCounts,
  messageCounts,
  messageParts,
  type StoredMessage,
  storedMessage,
} from './stored-message.ts'

export interface Operating {
  readonly storage: GuardedStorage
  /** Stored type of the queue. */
  readonly type: string
  readonly serde: Serde<unknown>
  readonly clock: Clock
}

const pageSize = 100

export async function countMessages({ storage, type }: Operating): Promise<MessageCounts> {
  const { types } = await storage.count({ types: [type] })
  return messageCounts(types.find((counts) => counts.type === type))
}

export async function* failedMessages({ storage, type, serde }: Operating): AsyncGenerator<FailedMessage> {
  for (let cursor: string | undefined; ;) {
    const { items, nextCursor } = await storage.list({
      of: 'jobs',
      types: [type],
      states: ['failed'],
      // By their end. An order by creation costs more with their number, and may leave some out (Page.truncated).
      by: 'place',
      order: 'asc',
      limit: pageSize,
      parts: ['payload', 'error'],
      cursor,
    })
    for (const record of items) yield failedMessage(serde, record)
    if (nextCursor === undefined) return
    cursor = nextCursor
  }
}

/** @returns a verdict for each id, in order @throws TypeError INVALID_ARGUMENT */
export async function reviveMessages({ storage, type }: Operating, ids: readonly string[]): Promise<ReviveVerdict[]> {
  const jobs = listOf('ids', ids).map((id, index) => {
    checkText(`ids[${index}]`, id, 512)
    return { type, id }
  })
  const verdicts: ReviveVerdict[] = []
  for (let from = 0; from < jobs.length; from += engineDefaults.batch) {
    // A message that waits keeps its time.
    verdicts.push(...(await storage.revive(jobs.slice(from, from + engineDefaults.batch), { only: 'ended' })))
  }
  return verdicts
}

/** @throws TypeError INVALID_ARGUMENT */
export async function getMessage({ storage, type, serde }: Operating, id: string): Promise<StoredMessage | null> {
  checkId(id)
  const [record] = await storage.get([{ type, id }], { parts: messageParts })
  return record ? storedMessage(serde, record) : null
}

/** @throws TypeError INVALID_ARGUMENT */
export async function cancelMessage(
  { storage, type, clock }: Operating,
  id: string,
  options: CancelOptions | undefined,
): Promise<CancelResult> {
  checkId(id)
  const { abort, force, reason, waitMs } = resolveOptions('cancel', options, cancelOptions)
  const job = { type, id }
  const [verdict] = await storage.cancel([job], { abort: abort || force, force, reason })
  if (verdict!.verdict === 'cancelling' && waitMs > 0) return cancelledWithin({ storage, clock, job, waitMs })
  return cancelResult(verdict!)
}
