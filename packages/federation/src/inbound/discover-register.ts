// REGISTER: the keys that a server says are its own are fetched from it, and pinned if they are the same.
// Invariant: nothing is written that was not fetched from the origin itself, and a pin never changes here.

import { sameKeys } from '../peers/fetch-keys.ts'
import { markServerHealthy } from '../peers/health.ts'
import { readPublicKey } from '../wire/v1/public-key.ts'
import { text } from '../wire/v1/fields.ts'
import { object, schema } from '../wire/v1/schema.ts'
import { answer, ownOrigin, type Route, spend } from './inbound.ts'
import { keysOf } from './keys-of.ts'
import { checkNotBlocked, originIn, ownKeys } from './peers.ts'
import { refuse } from './refusal.ts'

const RegisterSchema = schema(object({ url: text, publicKey: text, encryptionPublicKey: text }))

export const register: Route = async (inbound, { body, address }) => {
  const { context } = inbound
  const url = ownOrigin(inbound)
  const given = RegisterSchema.safeParse(body)
  if (!given.success) throw refuse('INVALID_PAYLOAD', given.error.message)
  const { publicKey, encryptionPublicKey } = given.data
  if (!readPublicKey('sig', publicKey) || !readPublicKey('enc', encryptionPublicKey)) {
    throw refuse('INVALID_PAYLOAD', 'expected keys of 32 bytes in base64')
  }
  const origin = originIn(given.data.url, context)
  if (origin === undefined || origin === url) throw refuse('ORIGIN_INVALID', 'the url names no other server')
  await checkNotBlocked(inbound, origin)
  // From here on others are asked on a stranger's behalf.
  spend(inbound.limits.discover, address, origin)
  const fetched = await keysOf(inbound, origin)
  if (!sameKeys(fetched, { url: origin, publicKey, encryptionPublicKey })) {
    throw refuse('KEYS_MISMATCH', 'the server shows other keys than these', { from: origin })
  }
  if ((await context.store.peers.pin(fetched, context.clock.now())) === 'pinned_otherwise') {
    context.emit('pin_mismatch', { origin, from: 'register' })
    throw refuse('PIN_MISMATCH', 'other keys are pinned for this server', { from: origin })
  }
  await markServerHealthy(context, origin)
  return answer(200, { message: 'registered', echo: { url, ...ownKeys(context) } })
}
