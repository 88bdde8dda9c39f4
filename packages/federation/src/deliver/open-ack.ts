// Decrypts an acknowledgement and verifies its signature, over the decrypted bytes as received, never over re-serialised JSON.

import { federationCodeOf } from '../errors.ts'
import type { FederationContext, SendingContext } from '../context.ts'
import { canonicalOrigin } from '../origin.ts'
import { decryptPayload } from '../wire/v1/envelope.ts'
import { parseJson } from '../wire/v1/json.ts'
import { verify } from '../wire/v1/signature.ts'
import { endAndForget, endAndKeep, endForReply, type ReplyTo } from './end.ts'

/** The delivery that an acknowledgement belongs to. */
export interface AckedDelivery extends ReplyTo {
  readonly serverUrl: string
  /** Signing key of the peer, base64, if the delivery has read it. */
  readonly publicKey: string | undefined
}

export interface OpenedAck {
  readonly text: string
  readonly value: unknown
}

/** @throws UnrecoverableError ACK_INVALID; the row is removed. FederationError with the same code if the reply came by a relay */
export async function decryptAck(
  context: FederationContext,
  envelope: unknown,
  ack: AckedDelivery,
): Promise<OpenedAck> {
  let text: string
  try {
    text = await decryptPayload(envelope, context.keyring)
  } catch (error) {
    // A keyring that is unavailable says nothing about the acknowledgement.
    if (federationCodeOf(error) !== 'DECRYPT_FAILED') throw error
    throw await ackInvalid(context, ack, 'it cannot be decrypted')
  }
  const parsed = parseJson(text)
  if (!parsed) throw await ackInvalid(context, ack, 'its content is not JSON')
  return { text, value: parsed.value }
}

export function ackInvalid(context: FederationContext, ack: AckedDelivery, why: string): Promise<Error> {
  const message = `acknowledgement of ${ack.serverUrl}: ${why}. The delivery ended. Report it to the peer's operator.`
  return endForReply(context, ack, endAndForget, 'ACK_INVALID', message)
}

/** @throws UnrecoverableError SIGNING_KEY_MISSING, ACK_SIGNATURE_INVALID; the row stays as failed. By a relay as above */
export async function verifyAck(
  context: FederationContext & Pick<SendingContext, 'contacts'>,
  text: string,
  signature: unknown,
  ack: AckedDelivery,
): Promise<void> {
  const { deliveryJobId } = ack
  const origin = canonicalOrigin(ack.serverUrl, context)
  const publicKey = ack.publicKey ?? (await context.store.peers.get(origin))?.publicKey
  if (publicKey === undefined) {
    const missing = `acknowledgement of ${origin}: no signing key is pinned for this server. The delivery ended. Send it again.`
    throw await endForReply(context, ack, endAndKeep, 'SIGNING_KEY_MISSING', missing)
  }
  if (verify(text, signature, publicKey)) return
  if (context.contacts) {
    // The peer may have changed its keys, and proved it, while the delivery was under way.
    const pinned = (await context.store.peers.get(origin))?.publicKey
    if (pinned !== publicKey && verify(text, signature, pinned)) return
  }
  context.emit('ack_forged', { origin, deliveryJobId })
  const message = `acknowledgement of ${origin}: the signature is not that of its pinned key. The delivery ended.`
  throw await endForReply(context, ack, endAndKeep, 'ACK_SIGNATURE_INVALID', message)
}
