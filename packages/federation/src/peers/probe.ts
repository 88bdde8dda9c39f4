// Asks a known peer whether it is there, with the keys that are pinned. Changes nothing of its health.

import type { FederationContext } from '../context.ts'
import type { PeerRow } from '../store/store.ts'
import { fetchKeys, sameKeys } from './fetch-keys.ts'

export interface ProbeOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** True: it answered, with the pinned keys. */
export async function answersAsPinned(context: FederationContext, peer: PeerRow, options: ProbeOptions): Promise<boolean> {
  try {
    if (sameKeys(await fetchKeys(context, peer.url, options), peer)) return true
  } catch {
    return false
  }
  context.emit('pin_mismatch', { origin: peer.url, from: 'health' })
  return false
}
