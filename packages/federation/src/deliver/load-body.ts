// Before the first step: a delivery of the outbox has its payload in the tables, and may have to wait for its turn.

import type { FederationDeliveryJob } from '../jobs.ts'
import type { SendingContext } from '../context.ts'
import { FederationError, unrecoverable } from '../errors.ts'

/** How long a delivery waits before it looks again whether it is its turn. */
const turnMs = 1_000

/**
 * Returns the data with the payload.
 * @throws UnrecoverableError BODY_MISSING, BACKLOG_FULL; FederationError NOT_ITS_TURN with `retryAfterMs`: an earlier delivery of its order key is open
 */
export async function loadBody(context: SendingContext, data: FederationDeliveryJob): Promise<FederationDeliveryJob> {
  const { deliveryJobId: id, serverUrl } = data
  if (data.payload !== '' && data.orderKey === undefined) return data
  const row = await context.store.deliveries.get(id)
  if (data.payload === '' && !row) {
    throw unrecoverable(
      'BODY_MISSING',
      `delivery to ${serverUrl}: its row was removed, and its body with it. Nothing was sent.`,
    )
  }
  if (row?.status === 'failed' && row.lastError === 'BACKLOG_FULL') {
    const message = `delivery to ${serverUrl}: too many deliveries waited for this server. Nothing was sent.`
    throw unrecoverable('BACKLOG_FULL', message)
  }
  if (row?.orderKey !== undefined) {
    const first = await context.store.deliveries.first(row.serverUrl, row.orderKey)
    if (first !== undefined && first !== id) {
      const message = `delivery to ${serverUrl}: an earlier delivery with its order key comes first.`
      throw new FederationError('NOT_ITS_TURN', message, { retryAfterMs: turnMs, scope: 'job' })
    }
  }
  return data.payload === '' ? { ...data, payload: row!.payload } : data
}
