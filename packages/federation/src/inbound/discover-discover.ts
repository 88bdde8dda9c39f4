// DISCOVER: a server asks whether its keys equal the pinned ones, and those that it serves.

import { envelope, text } from '../wire/v1/fields.ts'
import { fingerprint } from '../wire/v1/fingerprint.ts'
import { parseJson } from '../wire/v1/json.ts'
import { readPublicKey } from '../wire/v1/public-key.ts'
import { object, schema } from '../wire/v1/schema.ts'
import { sameKeys } from '../peers/fetch-keys.ts'
import { fetchStrangerKeys } from './fetch-stranger-keys.ts'
import { answer, ownOrigin, type Route, spend } from './inbound.ts'
import { openEnvelope } from './open-envelope.ts'
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
  if (!sig || !enc) throw refuse('INVALID_PAYLOAD', 'publicKey, encryptionPublicKey: expected base64 of 32 bytes')
  const inner = InnerSchema.safeParse(parseJson(await openEnvelope(inbound, given.data.envelope))?.value)
  if (!inner.success) throw refuse('INVALID_PAYLOAD', 'the content of the envelope has no fingerprints and url')
  const { publicKeyFingerprint, encryptionPublicKeyFingerprint } = inner.data
  if (publicKeyFingerprint !== fingerprint(sig) || encryptionPublicKeyFingerprint !== fingerprint(enc)) {
    throw refuse('INVALID_PAYLOAD', 'the fingerprints do not match the keys')
  }
  const url = originIn(inner.data.url, context)
  if (url === undefined || url === self) throw refuse('ORIGIN_INVALID', 'the url does not name another server')
  await checkNotBlocked(inbound, url)
  const peer = await context.store.peers.get(url)
  if (peer?.publicKey !== publicKey) throw refuse('KEY_NOT_REGISTERED', 'this key is not registered', { from: url })
  spend(inbound.limits.discover, address, url)
  const claimed = { url, publicKey, encryptionPublicKey }
  const fetched = await fetchStrangerKeys(inbound, url)
  return answer(200, { sameKeyOnServer: sameKeys(peer, claimed), sameKeyOnFetch: sameKeys(fetched, claimed) })
}
