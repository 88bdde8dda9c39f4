// The shapes of v1 messages (types; the checks belong in this folder).

export interface EncryptedEnvelope {
  readonly ephemeralPublicKey: string
  readonly iv: string
  readonly ciphertext: string
  readonly authTag: string
}

export interface DeliveryMessage {
  readonly method: string
  readonly payload: EncryptedEnvelope
  readonly signature: string
}

/** `data` for the sender, signed over its plaintext. */
export interface AckPayload {
  readonly method: 'PROXY_RESPONSE'
  readonly status: 'acknowledged'
  readonly data: EncryptedEnvelope
  readonly signature: string
}
