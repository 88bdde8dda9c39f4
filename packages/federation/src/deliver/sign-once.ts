// Signs the text of an activity once, not once for each of its recipients: the signature covers the text alone, and Ed25519 gives the same
// one every time. A keyring may also be a hardware module, for which a signature is a request.

import type { Keyring } from '../keyring.ts'
import { signText } from '../wire/v1/signature.ts'

/** Texts whose signatures are kept, per keyring. A text has at most some hundred KiB. */
const kept = 8

interface Signed {
  readonly kid: string
  readonly text: string
  readonly signature: Promise<string>
}

/** The latest first. */
const signedBy = new WeakMap<Keyring, Signed[]>()

/** Returns base64. A failure is not kept. */
export function signOnce(text: string, keyring: Keyring): Promise<string> {
  const { kid } = keyring.current('sig')
  const all = signedBy.get(keyring) ?? []
  signedBy.set(keyring, all)
  const known = all.find((one) => one.kid === kid && one.text === text)
  if (known) return known.signature
  const signed: Signed = { kid, text, signature: signText(text, keyring) }
  all.unshift(signed)
  all.splice(kept)
  signed.signature.catch(() => {
    const at = all.indexOf(signed)
    if (at >= 0) all.splice(at, 1)
  })
  return signed.signature
}
