// Step 3: the keys of the server: pinned ones, else by discovery.

import { FederationError } from '../errors.ts'
import { discoverAndRegister } from '../peers/discover.ts'
import { DiscoveryError } from '../peers/discovery-error.ts'
import type { FederationContext } from '../context.ts'
import type { PeerRow } from '../store/store.ts'
import type { Delivery } from './delivery.ts'
import { endAndKeep } from './end.ts'

/** What is known of the peer; its signing key too, unless it was forgotten again meanwhile. */
export type KnownPeer = Pick<PeerRow, 'url' | 'encryptionPublicKey'> & Partial<PeerRow>

/** Who is looked for at the moment: all who look for one server at the same time share what is found, one discovery too. */
const underWay = new WeakMap<FederationContext['http'], Map<string, Promise<KnownPeer>>>()

export async function findPeer({ context, data, signal }: Delivery, origin: string): Promise<KnownPeer> {
  const searches = underWay.get(context.http) ?? new Map<string, Promise<KnownPeer>>()
  underWay.set(context.http, searches)
  try {
    const search =
      searches.get(origin) ?? knownOrDiscovered(context, origin, signal).finally(() => searches.delete(origin))
    searches.set(origin, search)
    return await search
  } catch (error) {
    if (!(error instanceof DiscoveryError)) throw error
    if (error.code === 'PIN_MISMATCH' || error.code === 'ADDRESS_REFUSED') {
      throw await endAndKeep(context, data.deliveryJobId, error.code, error.message, error)
    }
    throw new FederationError('DISCOVERY_FAILED', `the keys of ${origin} could not be had`, { cause: error })
  }
}

async function knownOrDiscovered(context: FederationContext, origin: string, signal?: AbortSignal): Promise<KnownPeer> {
  const { peers } = context.store
  const known = await peers.get(origin)
  if (known) return known
  const encryptionPublicKey = await discoverAndRegister(context, origin, signal)
  return (await peers.get(origin)) ?? { url: origin, encryptionPublicKey }
}
