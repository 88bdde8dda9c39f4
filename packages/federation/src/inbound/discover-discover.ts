// DISCOVER: a server asks whether its keys are those that we know, and those that it shows to us.

import { envelope, text } from '../wire/v1/fields.ts'
import { fingerprint } from '../wire/v1/fingerprint.ts'
import { parseJson } from '../wire/v1/json.ts'
import { readPublicKey } from '../wire/v1/public-key.ts'
import { object, schema } from '../wire/v1/schema.ts'
import { sameKeys } from '../peers/fetch-keys.ts'
import { keysOf } from './keys-of.ts'
import { answer, ownOrigin, type Route, spend } from './inbound.ts'
import { opened } from './opened.ts'
import { checkNotBlocked, originIn } from './peers.ts'
import { refuse } from './refusal.ts'

const DiscoverSchema = schema(object({ publicKey: text, encryptionPublicKey: text, envelope }))
const InnerSchema = schema(object({ publicKeyFingerprint: text, encryptionPublicKeyFingerprint: text, url: text }))

export const discover: Route = async (inbound, { body, address }) => {
  const { context } = inbound
  const self = ownOrigin(inbound)
  const given = DiscoverSchema.safeParse(body)
  if (!given.success) throw refuse('INVALID_PAYLOAD', given.error.message)
  const { publicKey, encryptionPublicKey } = given.data
  const sig = readPublicKey('sig', publicKey)
  const enc = readPublicKey('enc', encryptionPublicKey)
  if (!sig || !enc) throw refuse('INVALID_PAYLOAD', 'expected keys of 32 bytes in base64')
  const inner = InnerSchema.safeParse(parseJson(await opened(inbound, given.data.envelope))?.value)
  if (!inner.success) throw refuse('INVALID_PAYLOAD', 'the envelope holds no fingerprints and url')
  const { publicKeyFingerprint, encryptionPublicKeyFingerprint } = inner.data
  if (publicKeyFingerprint !== fingerprint(sig) || encryptionPublicKeyFingerprint !== fingerprint(enc)) {
    throw refuse('INVALID_PAYLOAD', 'the fingerprints are not those of the keys')
  }
  const url = originIn(inner.data.url, context)
  if (url === undefined || url === self) throw refuse('ORIGIN_INVALID', 'the url names no other server')
  await checkNotBlocked(inbound, url)
  const peer = await context.store.peers.get(url)
  if (peer?.publicKey !== publicKey) throw refuse('KEY_NOT_REGISTERED', 'this key is not registered', { from: url })
  spend(inbound.limits.discover, address, url)
  const claimed = { url, publicKey, encryptionPublicKey }
  const fetched = await keysOf(inbound, url)
  return answer(200, { sameKeyOnServer: sameKeys(peer, claimed), sameKeyOnFetch: sameKeys(fetched, claimed) })
}
