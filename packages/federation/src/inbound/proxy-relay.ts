// PROXY: forwards an encrypted message. v1 gives no proof of the sender, so a relay starts no discovery, and forwards only between
// servers that are registered and healthy.

import { FederationError } from '../errors.ts'
import type { HttpResponse } from '../http/client.ts'
import { originOfUrl } from '../origin.ts'
import type { FederationContext } from '../context.ts'
import type { PeerRow } from '../store/store.ts'
import { envelope, signature, text } from '../wire/v1/fields.ts'
import { parseJson } from '../wire/v1/json.ts'
import type { EncryptedEnvelope } from '../wire/v1/messages.ts'
import { object, schema } from '../wire/v1/schema.ts'
import { answer, type Inbound, ownOrigin, type Route, spend } from './inbound.ts'
import { originIn } from './peers.ts'
import { refuse } from './refusal.ts'

const ProxySchema = schema(
  object({ targetUrl: text, publicSigningKey: text, publicEncryptionKey: text, payload: envelope, signature }),
)

export const relayFor: Route = async (inbound, { request, body }) => {
  const { context } = inbound
  if (!context.policies.relay.serve) throw refuse('RELAY_DISABLED', 'this server does not relay')
  const given = ProxySchema.safeParse(body)
  if (!given.success) throw refuse('INVALID_PROXY_DATA', given.error.message)
  const target = targetOf(given.data.targetUrl, context)
  const sender = await findRelayPeer(inbound, originIn(request.headers.get('x-federation-origin'), context))
  const { publicSigningKey, publicEncryptionKey } = given.data
  if (publicSigningKey !== sender.publicKey || publicEncryptionKey !== sender.encryptionPublicKey) {
    throw refuse('INCORRECT_KEYS', 'the keys differ from those that are pinned for the sender', { from: sender.url })
  }
  const { url } = await findRelayPeer(inbound, target)
  spend(inbound.limits.relay, sender.url, sender.url)
  return answer(200, {
    method: 'PROXY_RESPONSE',
    payload: await forward(inbound, url, given.data.payload, sender.url),
  })
}

/** Returns the origin of the target. Its path must be exactly /proxy. */
function targetOf(targetUrl: string, context: FederationContext): string {
  try {
    const origin = originOfUrl(targetUrl, context)
    const { pathname, search, hash } = new URL(targetUrl)
    if (pathname === '/proxy' && search === '' && hash === '') return origin
  } catch (error) {
    if (!(error instanceof FederationError)) throw error
  }
  throw refuse('INVALID_PROXY_DATA', 'targetUrl is not the /proxy path of a server')
}

/** Returns the row of a server that is registered, healthy, not blocked, and not this server. */
async function findRelayPeer(inbound: Inbound, origin: string | undefined): Promise<PeerRow> {
  const { store } = inbound.context
  const peer = origin === undefined || origin === ownOrigin(inbound) ? undefined : await store.peers.get(origin)
  if (peer?.isHealthy && (await store.blacklist.matching(peer.url)) === undefined) return peer
  throw refuse('UNKNOWN_FEDERATION_SERVER_INTERACTION', 'the sender or the target is not registered and healthy', {
    from: origin,
  })
}

async function forward(inbound: Inbound, target: string, payload: EncryptedEnvelope, sender: string): Promise<unknown> {
  const { http, policies } = inbound.context
  const self = ownOrigin(inbound)
  const headers = {
    'Content-Type': 'application/json',
    Origin: self,
    'X-Federation-Origin': self,
    'X-Federation-Sender': sender,
  }
  let response: HttpResponse
  try {
    const body = JSON.stringify({ method: 'TARGETED', payload })
    response = await http.request(`${target}/proxy`, {
      method: 'POST',
      headers,
      body,
      timeoutMs: policies.delivery.timeoutMs,
    })
  } catch (cause) {
    if (!(cause instanceof FederationError)) throw cause
    throw refuse('FAILED_TO_PROXY_REQUEST', 'the target did not answer', { from: sender, cause })
  }
  const reply = parseJson(Buffer.from(response.body).toString())
  if (response.status >= 200 && response.status <= 299 && reply) return reply.value
  throw refuse('FAILED_TO_PROXY_REQUEST', 'the target answered with an error', { from: sender })
}
