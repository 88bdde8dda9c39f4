// Checks of the server that a request names: its origin, its block and its row.

import { canonicalOrigin } from '../origin.ts'
import type { FederationContext } from '../context.ts'
import type { PeerRow } from '../store/store.ts'
import { encodeBase64 } from '../wire/v1/base64.ts'
import type { Inbound } from './inbound.ts'
import { refuse } from './refusal.ts'

/** Returns the canonical origin; undefined if the value does not name a server. */
export function originIn(text: unknown, context: FederationContext): string | undefined {
  try {
    return typeof text === 'string' ? canonicalOrigin(text, context) : undefined
  } catch {
    return undefined
  }
}

/** @throws Refusal BLACKLISTED_FEDERATION_SERVER */
export async function checkNotBlocked({ context }: Inbound, from: string): Promise<void> {
  if ((await context.store.blacklist.matching(from)) === undefined) return
  throw refuse('BLACKLISTED_FEDERATION_SERVER', 'this server is blocked', { from })
}

/** @throws Refusal UNKNOWN_FEDERATION_SERVER_INTERACTION */
export async function findRegistered({ context }: Inbound, from: string): Promise<PeerRow> {
  const peer = await context.store.peers.get(from)
  if (peer) return peer
  throw refuse('UNKNOWN_FEDERATION_SERVER_INTERACTION', 'this server is not registered here', { from })
}

export function ownKeys({ keyring }: FederationContext): {
  readonly publicKey: string
  readonly encryptionPublicKey: string
} {
  return {
    publicKey: encodeBase64(keyring.current('sig').publicKey),
    encryptionPublicKey: encodeBase64(keyring.current('enc').publicKey),
  }
}
