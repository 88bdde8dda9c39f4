// Dead letters: deliveries that failed for good. They can be listed, sent again and removed until upkeep sweeps them.

import { canonicalOrigin } from './origin.ts'
import type { FederationDeliveryJob } from './jobs.ts'
import type { FederationQueue } from './queues.ts'
import type { FederationContext } from './context.ts'
import type { DeliveryRow } from './store/store.ts'

export interface DeadLetterFilter {
  /** Origin of the peer. */
  readonly peer?: string
  /** Name of the job, such as `deliver-follow`. */
  readonly type?: string
  /** Code of the failure. */
  readonly code?: string
  /** Most rows that are read. `type` and `code` filter what was read. @default 100 */
  readonly limit?: number
}

export interface DeadLetters {
  /** Returns the matching rows, oldest first. */
  list(filter?: DeadLetterFilter): Promise<DeliveryRow[]>
  /** Sends matching deliveries again, with all attempts, under the same ids. Returns their number. */
  redrive(filter?: DeadLetterFilter): Promise<number>
  /** Removes matching rows. Returns their number. */
  remove(filter?: DeadLetterFilter): Promise<number>
}

export function deadLettersOf(
  context: FederationContext,
  queue: FederationQueue<FederationDeliveryJob>,
  open: () => Promise<void>,
): DeadLetters {
  const { deliveries } = context.store
  const list = async ({ peer, type, code, limit = 100 }: DeadLetterFilter = {}): Promise<DeliveryRow[]> => {
    const serverUrl = peer === undefined ? undefined : canonicalOrigin(peer, context)
    await open()
    const rows = await deliveries.list({ status: 'failed', limit, ...(serverUrl !== undefined && { serverUrl }) })
    const matches = (row: DeliveryRow): boolean =>
      (type === undefined || row.name === type) && (code === undefined || row.lastError === code)
    return rows.filter(matches)
  }
  return {
    list,
    redrive: async (filter) => {
      const rows = await list(filter)
      for (const { id, name, targetUrl, serverUrl, payload } of rows) {
        await context.store.transaction(async (tx) => {
          await deliveries.remove(id, tx)
          await deliveries.insert({ id, name, targetUrl, serverUrl, payload, createdAt: context.clock.now() }, tx)
        })
        await queue.add(name, { deliveryJobId: id, targetUrl, serverUrl, payload }, { id })
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
