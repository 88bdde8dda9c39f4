// Step 3: finds the keys of the peer: the pinned ones, or those of a discovery.

import { FederationError } from '../errors.ts'
import { discoverWithinBudget } from '../peers/discover.ts'
import { DiscoveryError } from '../peers/discovery-error.ts'
import type { FederationContext } from '../context.ts'
import type { PeerRow } from '../store/store.ts'
import { askedWaitMs } from './asked-to-wait.ts'
import type { Delivery } from './delivery.ts'
import { endAndKeep } from './end.ts'

/** The peer's row. Only its encryption key is known if the row was removed during the discovery. */
export type KnownPeer = Pick<PeerRow, 'url' | 'encryptionPublicKey'> & Partial<PeerRow>

/** Searches in progress, by federation and origin. Concurrent deliveries to one server share a search, and so its discovery. */
const searchesByClient = new WeakMap<FederationContext['http'], Map<string, Promise<KnownPeer>>>()

export async function findPeer({ context, data, signal, ahead }: Delivery, origin: string): Promise<KnownPeer> {
  const searches = searchesByClient.get(context.http) ?? new Map<string, Promise<KnownPeer>>()
  searchesByClient.set(context.http, searches)
  try {
    const known = ahead?.origin === origin ? await ahead.peer : undefined
    if (known) return known
    const search =
      searches.get(origin) ?? knownOrDiscovered(context, origin, signal).finally(() => searches.delete(origin))
    searches.set(origin, search)
    return await search
  } catch (error) {
    if (!(error instanceof DiscoveryError)) throw error
    if (error.code === 'PIN_MISMATCH' || error.code === 'ADDRESS_REFUSED') {
      throw await endAndKeep(context, data.deliveryJobId, error.code, error.message, error)
    }
    const retryAfterMs = askedWaitMs(error)
    if (retryAfterMs !== undefined) {
      const later = `delivery to ${origin}: its keys are fetched later, as too many servers were discovered in this minute.`
      throw new FederationError('DISCOVERY_FAILED', later, { cause: error, retryAfterMs })
    }
    const message = `delivery to ${origin}: its keys could not be fetched. It is retried while attempts are left.`
    throw new FederationError('DISCOVERY_FAILED', message, { cause: error })
  }
}

async function knownOrDiscovered(context: FederationContext, origin: string, signal?: AbortSignal): Promise<KnownPeer> {
  const { peers } = context.store
  const known = await peers.get(origin)
  if (known) return known
  const encryptionPublicKey = await discoverWithinBudget(context, origin, signal)
  return (await peers.get(origin)) ?? { url: origin, encryptionPublicKey }
}
