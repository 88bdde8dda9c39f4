// Steps 4 and 5: the payload is sealed for the server, and the attempt is counted.

import { FederationError } from '../errors.ts'
import { decodeBase64 } from '../wire/v1/base64.ts'
import { encryptPayload } from '../wire/v1/envelope.ts'
import type { EncryptedEnvelope } from '../wire/v1/messages.ts'
import type { Delivery } from './delivery.ts'
import type { KnownPeer } from './find-peer.ts'

export function seal({ data }: Delivery, peer: KnownPeer): EncryptedEnvelope {
  const key = decodeBase64(peer.encryptionPublicKey, 32)
  if (!key) throw new FederationError('KEY_INVALID', `the encryption key that is stored for ${peer.url} is none`)
  return encryptPayload(data.payload, key)
}

export async function countAttempt({ context, data }: Delivery): Promise<void> {
  await context.store.deliveries.attempted(data.deliveryJobId, context.clock.now())
}
