// The proof of a relayed message: which server asks which relay to forward it to which target. The v1 wire has none (its signature is over a text that the
// relay cannot read), so this is a header of our own. Servers that do not know it ignore it.

import type { Keyring } from '../../keyring.ts'
import type { EncryptedEnvelope } from './messages.ts'
import { signText, verify } from './signature.ts'

export const relayProofHeader = 'X-Federation-Relay-Proof'

/** What the sender vouches for. */
export interface RelayedMessage {
  /** Origin of the sender. */
  readonly from: string
  /** Origin of the relay. */
  readonly via: string
  /** Origin of the target. */
  readonly to: string
  readonly payload: EncryptedEnvelope
}

/** Returns the value of the header: the instant of sending and a signature. */
export async function proveRelayed(message: RelayedMessage, sentAt: number, keyring: Keyring): Promise<string> {
  return `${sentAt} ${await signText(textOf(message, sentAt), keyring)}`
}

/** Returns the signed instant; undefined if the proof is not one of this message. @param publicKey signing key of the sender, base64 */
export function provenAt(message: RelayedMessage, proof: string | null, publicKey: string): number | undefined {
  const [, digits, signature] = /^(\d{1,15}) (\S+)$/.exec(proof ?? '') ?? []
  const sentAt = Number(digits)
  return verify(textOf(message, sentAt), signature, publicKey) ? sentAt : undefined
}

/** No other signed text of the wire begins like this: they are JSON. No field can contain a line break. */
function textOf({ from, via, to, payload }: RelayedMessage, sentAt: number): string {
  const { ephemeralPublicKey, iv, ciphertext, authTag } = payload
  return ['holdfast relay v1', from, via, to, sentAt, ephemeralPublicKey, iv, ciphertext, authTag].join('\n')
}
