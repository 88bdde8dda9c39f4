// Fetches the keys of a server on behalf of an unauthenticated client.

import { federationCodeOf } from '../errors.ts'
import { fetchKeys } from '../peers/fetch-keys.ts'
import type { PeerKeys } from '../store/store.ts'
import type { Inbound } from './inbound.ts'
import { refuse } from './refusal.ts'

/** @throws Refusal ADDRESS_REFUSED, DISCOVERY_FAILED */
export async function fetchStrangerKeys({ context }: Inbound, origin: string): Promise<PeerKeys> {
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
