// REGISTER: fetches the keys from the origin that registers, and pins them if they equal the given ones.
// Invariant: only keys that were fetched from the origin itself are written, and a pin never changes here.

import type { FederationContext } from '../context.ts'
import { sameKeys } from '../peers/fetch-keys.ts'
import { markServerHealthy } from '../peers/health.ts'
import { siteOf } from '../peers/site.ts'
import { readPublicKey } from '../wire/v1/public-key.ts'
import { text } from '../wire/v1/fields.ts'
import { object, schema } from '../wire/v1/schema.ts'
import { answer, ownOrigin, type Route, spend } from './inbound.ts'
import { fetchStrangerKeys } from './fetch-stranger-keys.ts'
import { checkNotBlocked, originIn, ownKeys } from './peers.ts'
import { refuse } from './refusal.ts'

/** Anyone can register servers that are never used, so only so many of them are kept. */
async function boundRegistry(
  { store, policies }: FederationContext,
  url: string,
  addressRange?: string,
): Promise<void> {
  const { unusedPerSite: perSite, unusedPerRange: perRange, unusedMax: max } = policies.registry
  await store.peers.evictUnused({ url, site: siteOf(url), addressRange }, { perSite, perRange, max })
}

const RegisterSchema = schema(object({ url: text, publicKey: text, encryptionPublicKey: text }))

export const register: Route = async (inbound, { body, address }) => {
  const { context } = inbound
  const url = ownOrigin(inbound)
  const given = RegisterSchema.safeParse(body)
  if (!given.success) throw refuse('INVALID_PAYLOAD', given.error.message)
  const { publicKey, encryptionPublicKey } = given.data
  if (!readPublicKey('sig', publicKey) || !readPublicKey('enc', encryptionPublicKey)) {
    throw refuse('INVALID_PAYLOAD', 'publicKey, encryptionPublicKey: expected base64 of 32 bytes')
  }
  const origin = originIn(given.data.url, context)
  if (origin === undefined || origin === url) throw refuse('ORIGIN_INVALID', 'the url does not name another server')
  await checkNotBlocked(inbound, origin)
  // The rest of this request makes a request to another server, so it has a budget of its own.
  spend(inbound.limits.discover, address, origin)
  const fetched = await fetchStrangerKeys(inbound, origin)
  if (!sameKeys(fetched, { url: origin, publicKey, encryptionPublicKey })) {
    throw refuse('KEYS_MISMATCH', 'the keys differ from those that the server serves', { from: origin })
  }
  const { peers } = context.store
  const pinned = await peers.pin(fetched, context.clock.now(), { addressRange: fetched.addressRange })
  if (pinned === 'pinned_otherwise') {
    context.emit('pin_mismatch', { origin, from: 'register' })
    throw refuse('PIN_MISMATCH', 'the keys differ from those that are pinned for this server', { from: origin })
  }
  if (pinned === 'inserted') await boundRegistry(context, origin, fetched.addressRange)
  await markServerHealthy(context, origin)
  return answer(200, { message: 'registered', echo: { url, ...ownKeys(context) } })
}
