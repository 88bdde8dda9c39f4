// Opens an acknowledgement and checks whose it is. Over the decrypted bytes as they came, never over JSON written anew.

import { federationCodeOf } from '../errors.ts'
import type { FederationContext } from '../context.ts'
import { canonicalOrigin } from '../origin.ts'
import { decryptPayload } from '../wire/v1/envelope.ts'
import { parseJson } from '../wire/v1/json.ts'
import { verify } from '../wire/v1/signature.ts'
import { endAndForget, endAndKeep } from './end.ts'

/** Of a delivery that a server acknowledged. */
export interface AckOf {
  readonly serverUrl: string
  /** The server's signing key, if it is known from the delivery. Base64. */
  readonly publicKey: string | undefined
  readonly deliveryJobId: string
}

export interface OpenedAck {
  readonly text: string
  readonly value: unknown
}

/** @throws UnrecoverableError ACK_INVALID; the row goes */
export async function decryptAck(context: FederationContext, envelope: unknown, ack: AckOf): Promise<OpenedAck> {
  let text: string
  try {
    text = await decryptPayload(envelope, context.keyring)
  } catch (error) {
    // A keyring that is away is no fault of the acknowledgement's.
    if (federationCodeOf(error) !== 'DECRYPT_FAILED') throw error
    throw await ackInvalid(context, ack, 'it does not open')
  }
  const parsed = parseJson(text)
  if (!parsed) throw await ackInvalid(context, ack, 'it holds no JSON')
  return { text, value: parsed.value }
}

export function ackInvalid(context: FederationContext, { deliveryJobId }: AckOf, why: string): Promise<Error> {
  return endAndForget(context, deliveryJobId, 'ACK_INVALID', `the acknowledgement is not valid: ${why}`)
}

/** @throws UnrecoverableError SIGNING_KEY_MISSING, ACK_SIGNATURE_INVALID; the row stays as failed */
export async function verifyAck(context: FederationContext, text: string, signature: unknown, ack: AckOf): Promise<void> {
  const { deliveryJobId } = ack
  const origin = canonicalOrigin(ack.serverUrl, context)
  const publicKey = ack.publicKey ?? (await context.store.peers.get(origin))?.publicKey
  if (publicKey === undefined) {
    throw await endAndKeep(context, deliveryJobId, 'SIGNING_KEY_MISSING', `no signing key of ${origin} is known`)
  }
  if (verify(text, signature, publicKey)) return
  context.emit('ack_forged', { origin, deliveryJobId })
  const message = `the acknowledgement was not signed by ${origin}`
  throw await endAndKeep(context, deliveryJobId, 'ACK_SIGNATURE_INVALID', message)
}
