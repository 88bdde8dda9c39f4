// The keys of this server. Private bytes never leave a keyring, so it can be one of a security module.

/** `sig`: Ed25519, `enc`: X25519. */
export type KeyUse = 'sig' | 'enc'

export interface PublicKey {
  readonly kid: string
  readonly use: KeyUse
  /** 32 bytes. */
  readonly publicKey: Uint8Array
}

export interface Keyring {
  current(use: KeyUse): PublicKey
  byKid(kid: string): PublicKey | undefined
  /** Ed25519, 64 bytes. */
  sign(kid: string, bytes: Uint8Array): Promise<Uint8Array>
  /** Raw X25519, 32 bytes. @throws FederationError DECRYPT_FAILED for a point of low order */
  agree(kid: string, publicKey: Uint8Array): Promise<Uint8Array>
}
