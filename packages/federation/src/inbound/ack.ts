// Makes the acknowledgement of a delivery: encrypted for its sender, and signed.

import { decodeBase64 } from '../wire/v1/base64.ts'
import { encryptPayload } from '../wire/v1/envelope.ts'
import { isoOf } from '../wire/v1/instant.ts'
import type { AckPayload } from '../wire/v1/messages.ts'
import { signText } from '../wire/v1/signature.ts'
import type { Outcome } from './effect.ts'
import { type Inbound, ownOrigin } from './inbound.ts'
import type { Delivery } from './pipeline.ts'

export async function sealAck(inbound: Inbound, delivery: Delivery, outcome: Outcome): Promise<AckPayload> {
  const { keyring } = inbound.context
  const text = JSON.stringify(statement(delivery, outcome, ownOrigin(inbound)))
  const key = decodeBase64(delivery.peer.encryptionPublicKey, 32)
  if (!key) throw new Error(`acknowledgement to ${delivery.from}: the pinned encryption key is not a key`)
  return {
    method: 'PROXY_RESPONSE',
    status: 'acknowledged',
    data: encryptPayload(text, key),
    signature: await signText(text, keyring),
  }
}

function statement({ message, method, body, messageKey }: Delivery, { follow, id }: Outcome, self: string): object {
  if (follow) {
    const { followerId, followingId, accepted, followerServerUrl = null } = follow
    const following = { id: follow.id, createdAt: isoOf(follow.createdAt), followerId, followingId, accepted }
    return {
      following: { ...following, followerServerUrl, acknowledged: true },
      federationUrl: body.federationUrl,
      method: message.method,
    }
  }
  const shared = { federationUrl: self, method: message.method }
  if (message.method !== 'FEDERATE_POST') return { ...shared, id: method.idOf(body) }
  return { post: { id: id ?? messageKey, federationPostId: method.idOf(body) }, ...shared }
}
