// Checks whether a known peer answers with its pinned keys. Does not change its health.

import type { FederationContext } from '../context.ts'
import type { PeerRow } from '../store/store.ts'
import { fetchKeys, sameKeys } from './fetch-keys.ts'

export interface ProbeOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** Returns true if the peer answered with the pinned keys. */
export async function answersAsPinned(
  context: FederationContext,
  peer: PeerRow,
  options: ProbeOptions,
): Promise<boolean> {
  try {
    if (sameKeys(await fetchKeys(context, peer.url, options), peer)) return true
  } catch {
    return false
  }
  context.emit('pin_mismatch', { origin: peer.url, from: 'health' })
  return false
}
