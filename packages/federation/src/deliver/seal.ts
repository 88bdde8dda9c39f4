// Steps 4 and 5: encrypts the payload for the peer, and counts the attempt.

import { FederationError } from '../errors.ts'
import { decodeBase64 } from '../wire/v1/base64.ts'
import { encryptPayload } from '../wire/v1/envelope.ts'
import type { EncryptedEnvelope } from '../wire/v1/messages.ts'
import type { Delivery } from './delivery.ts'
import type { KnownPeer } from './find-peer.ts'

export function seal({ data }: Delivery, peer: KnownPeer): EncryptedEnvelope {
  const key = decodeBase64(peer.encryptionPublicKey, 32)
  if (key) return encryptPayload(data.payload, key)
  const message = `delivery to ${peer.url}: the pinned encryption key is not a key. Pin it anew with peers.repin().`
  throw new FederationError('KEY_INVALID', message)
}

export async function countAttempt({ context, data }: Delivery): Promise<void> {
  await context.store.deliveries.attempted(data.deliveryJobId, context.clock.now())
}
