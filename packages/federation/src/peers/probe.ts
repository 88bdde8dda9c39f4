// Checks whether a known peer answers with its pinned keys. Does not change its health.

import type { FederationContext } from '../context.ts'
import type { PeerRow } from '../store/store.ts'
import { DiscoveryError } from './discovery-error.ts'
import { fetchKeys, sameKeys } from './fetch-keys.ts'

export interface ProbeOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

export interface Probed {
  /** `gone`: it answered 410. */
  readonly outcome: 'as_pinned' | 'other_keys' | 'gone' | 'failed'
  readonly cause?: unknown
}

export async function probe(context: FederationContext, peer: PeerRow, options: ProbeOptions): Promise<Probed> {
  try {
    if (sameKeys(await fetchKeys(context, peer.url, options), peer)) return { outcome: 'as_pinned' }
  } catch (cause) {
    const { status } = ((cause instanceof DiscoveryError ? cause.cause : undefined) ?? {}) as { status?: unknown }
    return { outcome: status === 410 ? 'gone' : 'failed', cause }
  }
  context.emit('pin_mismatch', { origin: peer.url, from: 'health' })
  return { outcome: 'other_keys' }
}

/** Returns true if the peer answered with the pinned keys. */
export async function answersAsPinned(
  context: FederationContext,
  peer: PeerRow,
  options: ProbeOptions,
): Promise<boolean> {
  return (await probe(context, peer, options)).outcome === 'as_pinned'
}
