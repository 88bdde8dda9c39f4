// Keys for the servers of a test file. Of 2,048 bits: to make and use those of 4,096 bits, which Fedify makes by default, would be
// most of the work of a test. The queue and the store never see them.

const keys = new Map<string, Promise<CryptoKeyPair>>()

/** The same keys for a server of the same name in every test of a file. */
export function keysOf(name: string): Promise<CryptoKeyPair> {
  const made = keys.get(name) ?? newKeys()
  keys.set(name, made)
  return made
}

const newKeys = (): Promise<CryptoKeyPair> =>
  crypto.subtle.generateKey(
    {
      name: 'RSASSA-PKCS1-v1_5',
      modulusLength: 2_048,
      publicExponent: new Uint8Array([1, 0, 1]),
      hash: 'SHA-256',
    },
    true,
    ['sign', 'verify'],
  )
