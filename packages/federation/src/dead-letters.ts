// Deliveries that failed for good, until they are swept: to be seen, sent again, or removed.

import { canonicalOrigin } from './origin.ts'
import type { FederationDeliveryJob } from './jobs.ts'
import type { FederationQueue } from './queues.ts'
import type { FederationContext } from './context.ts'
import type { DeliveryRow } from './store/store.ts'

export interface DeadLetterFilter {
  /** A server's origin. */
  readonly peer?: string
  /** The name of the job, such as `deliver-follow`. */
  readonly type?: string
  /** The code it failed with. */
  readonly code?: string
  /** Looked at, before `type` and `code` choose. @default 100 */
  readonly limit?: number
}

export interface DeadLetters {
  list(filter?: DeadLetterFilter): Promise<DeliveryRow[]>
  /** From the start, under the same ids. Gives how many. */
  redrive(filter?: DeadLetterFilter): Promise<number>
  /** Gives how many. */
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
    const fits = (row: DeliveryRow): boolean =>
      (type === undefined || row.name === type) && (code === undefined || row.lastError === code)
    return rows.filter(fits)
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
