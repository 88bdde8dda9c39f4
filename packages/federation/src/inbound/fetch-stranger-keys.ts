// Fetches the keys of a server on behalf of an unauthenticated client.

import { federationCodeOf } from '../errors.ts'
import { type FetchedKeys, fetchKeys } from '../peers/fetch-keys.ts'
import { type Inbound, rateLimited } from './inbound.ts'
import { refuse } from './refusal.ts'

/** @throws Refusal RATE_LIMITED, ADDRESS_REFUSED, DISCOVERY_FAILED */
export async function fetchStrangerKeys({ context, fetches }: Inbound, origin: string): Promise<FetchedKeys> {
  // One budget for all clients: many addresses together must not make this server a source of many requests.
  const waitMs = fetches.take()
  if (waitMs !== undefined) throw rateLimited(waitMs, origin)
  try {
    return await fetchKeys(context, origin)
  } catch (cause) {
    const code = federationCodeOf(cause)
    if (code === undefined) throw cause
    // The reply has no detail: it would let an unauthenticated client explore this server's network.
    throw code === 'ADDRESS_REFUSED'
      ? refuse('ADDRESS_REFUSED', 'this server may not be contacted', { from: origin, cause })
      : refuse('DISCOVERY_FAILED', 'the keys of this server could not be fetched', { from: origin, cause })
  }
}
