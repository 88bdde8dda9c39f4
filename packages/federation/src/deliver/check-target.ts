// Step 1b: the target lies on the server that the delivery is for.

import { canonicalOrigin, originOfUrl } from '../origin.ts'
import { endAndKeep } from './end.ts'
import type { Delivery } from './delivery.ts'

/** Gives the peer's origin. */
export async function checkTarget({ context, data }: Delivery): Promise<string> {
  const { serverUrl, targetUrl, deliveryJobId } = data
  try {
    const origin = canonicalOrigin(serverUrl, context)
    if (originOfUrl(targetUrl, context) === origin) return origin
  } catch {
    // Names no server: not this one either.
  }
  const message = 'targetUrl is not on the server that serverUrl names'
  throw await endAndKeep(context, deliveryJobId, 'TARGET_MISMATCH', message)
}
