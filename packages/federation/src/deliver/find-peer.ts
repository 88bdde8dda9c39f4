// Step 3: the keys of the server: pinned ones, else by discovery.

import { FederationError } from '../errors.ts'
import { discoverAndRegister } from '../peers/discover.ts'
import { DiscoveryError } from '../peers/discovery-error.ts'
import type { PeerRow } from '../store/store.ts'
import type { Delivery } from './delivery.ts'
import { endAndKeep } from './end.ts'

/** What is known of the peer; its signing key too, unless it was forgotten again meanwhile. */
export type KnownPeer = Pick<PeerRow, 'url' | 'encryptionPublicKey'> & Partial<PeerRow>

export async function findPeer({ setting, data, signal }: Delivery, origin: string): Promise<KnownPeer> {
  const { peers } = setting.store
  const known = await peers.get(origin)
  if (known) return known
  try {
    const encryptionPublicKey = await discoverAndRegister(setting, origin, signal)
    return (await peers.get(origin)) ?? { url: origin, encryptionPublicKey }
  } catch (error) {
    if (error instanceof DiscoveryError && (error.code === 'PIN_MISMATCH' || error.code === 'ADDRESS_REFUSED')) {
      throw await endAndKeep(setting, data.deliveryJobId, error.code, error.message, error)
    }
    throw new FederationError('DISCOVERY_FAILED', `the keys of ${origin} could not be had`, { cause: error })
  }
}
