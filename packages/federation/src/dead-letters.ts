// Dead letters: deliveries that failed for good. They can be listed, sent again and removed until upkeep sweeps them.

import { canonicalOrigin } from './origin.ts'
import type { FederationDeliveryJob } from './jobs.ts'
import type { FederationQueue } from './queues.ts'
import type { FederationContext } from './context.ts'
import { jobOf } from './outbox.ts'
import type { DeliveryRow } from './store/store.ts'

export interface DeadLetterFilter {
  /** Origin of the peer. */
  readonly peer?: string
  /** Name of the job, such as `deliver-follow`. */
  readonly type?: string
  /** Code of the failure. */
  readonly code?: string
  /** Most rows. @default 100 */
  readonly limit?: number
}

export interface DeadLetters {
  /** Returns the matching rows, oldest first. The payload of those with a stored body is empty. */
  list(filter?: DeadLetterFilter): Promise<DeliveryRow[]>
  /** Sends matching deliveries again, with all attempts, under the same ids, after fresh ones. Those without a body stay. Returns their number. */
  redrive(filter?: DeadLetterFilter): Promise<number>
  /** Removes matching rows. Returns their number. */
  remove(filter?: DeadLetterFilter): Promise<number>
}

/** Dead letters come after deliveries that were not tried yet. */
const afterFresh = -1

export function deadLettersOf(
  context: FederationContext,
  queue: FederationQueue<FederationDeliveryJob>,
  open: () => Promise<void>,
): DeadLetters {
  const { deliveries } = context.store
  const list = async ({ peer, type, code, limit = 100 }: DeadLetterFilter = {}): Promise<DeliveryRow[]> => {
    const serverUrl = peer === undefined ? undefined : canonicalOrigin(peer, context)
    await open()
    return deliveries.list({ status: 'failed', serverUrl, name: type, lastError: code, limit })
  }
  return {
    list,
    redrive: async (filter) => {
      // Without a body: it was dropped.
      const rows = (await list(filter)).filter(({ payload, bodyId }) => payload !== '' || bodyId !== undefined)
      for (const row of rows) {
        const { id, name } = row
        await deliveries.reopen(id, context.clock.now())
        await queue.add(name, jobOf(row), { id, priority: afterFresh })
      }
      return rows.length
    },
    remove: async (filter) => {
      const rows = await list(filter)
      for (const { id } of rows) await deliveries.remove(id)
      return rows.length
    },
  }
}
