// The keys that a server shows, fetched on behalf of somebody who is not known.

import { federationCodeOf } from '../errors.ts'
import { fetchKeys } from '../peers/fetch-keys.ts'
import type { PeerKeys } from '../store/store.ts'
import type { Inbound } from './inbound.ts'
import { refuse } from './refusal.ts'

/** @throws Refusal ADDRESS_REFUSED, DISCOVERY_FAILED */
export async function keysOf({ context }: Inbound, origin: string): Promise<PeerKeys> {
  try {
    return await fetchKeys(context, origin)
  } catch (cause) {
    const code = federationCodeOf(cause)
    if (code === undefined) throw cause
    // What went wrong is not said: it would tell a stranger what our network looks like.
    throw code === 'ADDRESS_REFUSED'
      ? refuse('ADDRESS_REFUSED', 'this server may not be contacted', { from: origin, cause })
      : refuse('DISCOVERY_FAILED', 'the keys could not be fetched from this server', { from: origin, cause })
  }
}
