// The messages on the wire: a delivery and its acknowledgement.

import { envelope, id, signature } from './fields.ts'
import { literal, object, type ObjectOf, schema } from './schema.ts'

/** An encrypted text. All fields are base64. */
export interface EncryptedEnvelope {
  readonly ephemeralPublicKey: string
  readonly iv: string
  readonly ciphertext: string
  readonly authTag: string
}

const deliveryMessage = { method: id, payload: envelope, signature }

/** A delivery. `signature` is over the plaintext of `payload`. */
export type DeliveryMessage = ObjectOf<typeof deliveryMessage>
export const DeliveryMessageSchema = schema(object(deliveryMessage))

const ackPayload = {
  method: literal('PROXY_RESPONSE'),
  status: literal('acknowledged'),
  data: envelope,
  signature,
}

/** An acknowledgement. `data` is encrypted for the sender, `signature` is over its plaintext. */
export type AckPayload = ObjectOf<typeof ackPayload>
export const AckPayloadSchema = schema(object(ackPayload))

const relayedAck = { method: literal('PROXY_RESPONSE'), payload: object(ackPayload) }

/** An acknowledgement that came by a relay. */
export const RelayedAckSchema = schema(object(relayedAck))
