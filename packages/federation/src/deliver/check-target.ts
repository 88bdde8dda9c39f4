// Step 1b: the target URL must be on the server that the delivery names.

import { canonicalOrigin, originOfUrl } from '../origin.ts'
import { endAndKeep } from './end.ts'
import type { Delivery } from './delivery.ts'

/** Returns the origin of the peer. */
export async function checkTarget({ context, data }: Delivery): Promise<string> {
  const { serverUrl, targetUrl, deliveryJobId } = data
  try {
    const origin = canonicalOrigin(serverUrl, context)
    if (originOfUrl(targetUrl, context) === origin) return origin
  } catch {
    // A URL that names no server cannot be on this one.
  }
  const message =
    'delivery: targetUrl is not on the server of serverUrl. Nothing was sent. Correct the data of the job.'
  throw await endAndKeep(context, deliveryJobId, 'TARGET_MISMATCH', message)
}
