// Asks a known peer whether it is there, with the keys that are pinned. Changes nothing of its health.

import type { Setting } from '../setting.ts'
import type { PeerRow } from '../store/store.ts'
import { fetchKeys, sameKeys } from './fetch-keys.ts'

export interface ProbeOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** True: it answered, with the pinned keys. */
export async function answersAsPinned(setting: Setting, peer: PeerRow, options: ProbeOptions): Promise<boolean> {
  try {
    if (sameKeys(await fetchKeys(setting, peer.url, options), peer)) return true
  } catch {
    return false
  }
  setting.emit('pin_mismatch', { origin: peer.url, from: 'health' })
  return false
}
