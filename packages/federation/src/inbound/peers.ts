// Who somebody claims to be, and what is known of them.

import { canonicalOrigin } from '../origin.ts'
import type { Setting } from '../setting.ts'
import type { PeerRow } from '../store/store.ts'
import { encodeBase64 } from '../wire/v1/base64.ts'
import type { Inbound } from './inbound.ts'
import { refuse } from './refusal.ts'

/** Undefined: it names no server. */
export function originIn(text: unknown, setting: Setting): string | undefined {
  try {
    return typeof text === 'string' ? canonicalOrigin(text, setting) : undefined
  } catch {
    return undefined
  }
}

/** @throws Refusal BLACKLISTED_FEDERATION_SERVER */
export async function checkNotBlocked({ setting }: Inbound, from: string): Promise<void> {
  if ((await setting.store.blacklist.matching(from)) === undefined) return
  throw refuse('BLACKLISTED_FEDERATION_SERVER', 'this server is blocked', { from })
}

/** @throws Refusal UNKNOWN_FEDERATION_SERVER_INTERACTION */
export async function registered({ setting }: Inbound, from: string): Promise<PeerRow> {
  const peer = await setting.store.peers.get(from)
  if (peer) return peer
  throw refuse('UNKNOWN_FEDERATION_SERVER_INTERACTION', 'this server is not registered here', { from })
}

export function ownKeys({ keyring }: Setting): { readonly publicKey: string; readonly encryptionPublicKey: string } {
  return {
    publicKey: encodeBase64(keyring.current('sig').publicKey),
    encryptionPublicKey: encodeBase64(keyring.current('enc').publicKey),
  }
}
