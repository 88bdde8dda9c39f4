// PROXY: forwards an encrypted message of a sender that proves who it is. A relay starts no discovery, and forwards only between servers
// that are registered and healthy.

import { FederationError } from '../errors.ts'
import type { HttpResponse } from '../http/client.ts'
import { originOfUrl } from '../origin.ts'
import type { FederationContext } from '../context.ts'
import type { PeerRow } from '../store/store.ts'
import { envelope, signature, text } from '../wire/v1/fields.ts'
import { parseJson } from '../wire/v1/json.ts'
import type { EncryptedEnvelope } from '../wire/v1/messages.ts'
import { provenAt, type RelayedMessage, relayProofHeader } from '../wire/v1/relay-proof.ts'
import { object, schema } from '../wire/v1/schema.ts'
import { answer, type Inbound, ownOrigin, type Route, spend } from './inbound.ts'
import { originIn } from './peers.ts'
import { refuse } from './refusal.ts'

const ProxySchema = schema(
  object({ targetUrl: text, publicSigningKey: text, publicEncryptionKey: text, payload: envelope, signature }),
)

/** Difference of clocks and age that a proof may have. Within it a captured request can be sent again, as often as the budget allows. */
const proofWindowMs = 5 * 60_000

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
  checkProof(
    inbound,
    request,
    { from: sender.url, via: ownOrigin(inbound), to: url, payload: given.data.payload },
    sender,
  )
  spend(inbound.limits.relay, sender.url, sender.url)
  return answer(200, {
    method: 'PROXY_RESPONSE',
    payload: await forward(inbound, url, given.data.payload, sender.url),
  })
}

/** Without it anyone who knows the public keys of a sender could send in its name, up to the refusal of the target. */
function checkProof(
  { context }: Inbound,
  { headers }: Request,
  message: RelayedMessage,
  { publicKey, url }: PeerRow,
): void {
  const at = provenAt(message, headers.get(relayProofHeader), publicKey)
  if (at !== undefined && Math.abs(context.clock.now() - at) <= proofWindowMs) return
  throw refuse('INVALID_SIGNATURE', 'the sender does not prove that it asks this relay to forward this message', {
    from: url,
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
  if (response.status >= 200 && response.status <= 299 && reply) {
    inbound.context.metrics.add('relayed')
    return reply.value
  }
  throw refuse('FAILED_TO_PROXY_REQUEST', 'the target answered with an error', { from: sender })
}
