// @holdfast/federation: deliveries between servers, encrypted, signed and acknowledged.

export { UnrecoverableError } from 'holdfast'
export { FederationError, type FederationErrorCode, federationErrorCodes } from './errors.ts'
export {
  generateKeyring,
  generateKeyText,
  type Keyring,
  keyringFromBase64,
  type KeyringText,
  type KeyUse,
  type PublicKey,
} from './keyring.ts'
export { canonicalOrigin, type OriginOptions } from './origin.ts'
export { type FollowEnvelope, FollowEnvelopeSchema } from './wire/v1/acks.ts'
export { decryptPayload, encryptPayload } from './wire/v1/envelope.ts'
export type { AckPayload, EncryptedEnvelope } from './wire/v1/messages.ts'
