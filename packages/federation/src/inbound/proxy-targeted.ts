// TARGETED: a request that came by a relay. Its content goes through the same checks as a direct delivery.

import { originOfUrl } from '../origin.ts'
import { envelope, text } from '../wire/v1/fields.ts'
import { parseJson } from '../wire/v1/json.ts'
import { is, isObject, literal, object, schema } from '../wire/v1/schema.ts'
import { openEnvelope } from './open-envelope.ts'
import { answer, type Call, type Inbound, ownOrigin, type Route } from './inbound.ts'
import { checkNotBlocked, originIn, findRegistered } from './peers.ts'
import { receive } from './pipeline.ts'
import { refuse } from './refusal.ts'

const maxNonceLength = 64

const TargetedSchema = schema(object({ payload: envelope }))
const nonce = is(
  'a short text',
  (value): value is string => typeof value === 'string' && value.length <= maxNonceLength,
)
const PingSchema = schema(object({ method: literal('PING'), nonce }))
const RequestSchema = schema(
  object({ targetUrl: text, method: literal('POST'), headers: is('an object', isObject), body: text }),
)

export const receiveTargeted: Route = async (inbound, call) => {
  const given = TargetedSchema.safeParse(call.body)
  if (!given.success) throw refuse('INVALID_PAYLOAD', given.error.message)
  const inner = parseJson(await openEnvelope(inbound, given.data.payload))?.value
  if (isObject(inner) && inner['method'] === 'PING') return pong(inbound, call, inner)
  const request = RequestSchema.safeParse(inner)
  if (!request.success) throw invalid()
  const { targetUrl, headers, body } = request.data
  checkOwnInbox(inbound, targetUrl)
  checkOwnInbox(inbound, headerIn(headers, 'x-federation-target'))
  const claimed = originIn(headerIn(headers, 'x-federation-origin'), inbound.context)
  if (claimed === undefined || claimed !== originIn(headerIn(headers, 'origin'), inbound.context)) throw invalid()
  const message = parseJson(body)
  if (!message) throw refuse('INVALID_JSON', 'the relayed body is not JSON', { from: claimed })
  return receive(inbound, message.value, claimed, call.address)
}

/** The URL must be an inbox of this server. */
function checkOwnInbox(inbound: Inbound, targetUrl: unknown): void {
  const { context } = inbound
  if (typeof targetUrl !== 'string') throw invalid()
  let origin: string
  try {
    origin = originOfUrl(targetUrl, context)
  } catch {
    throw invalid()
  }
  const { pathname, search, hash } = new URL(targetUrl)
  const isInbox = context.policies.inbound.inboxPaths.includes(pathname) && search === '' && hash === ''
  if (origin !== ownOrigin(inbound) || !isInbox) throw invalid()
}

/** Finds a header by its name in any case. Undefined if it is absent or present twice. */
function headerIn(headers: Readonly<Record<string, unknown>>, name: string): unknown {
  const values = Object.entries(headers).filter(([key]) => key.toLowerCase() === name)
  return values.length === 1 ? values[0]![1] : undefined
}

const invalid = (): Error =>
  refuse('INVALID_TARGETED_DATA', 'the relayed request is not one to an inbox of this server')

async function pong(inbound: Inbound, { request }: Call, inner: unknown): Promise<Response> {
  const ping = PingSchema.safeParse(inner)
  if (!ping.success) throw invalid()
  const from = originIn(request.headers.get('x-federation-origin'), inbound.context)
  if (from === undefined) throw refuse('UNKNOWN_FEDERATION_SERVER_INTERACTION', 'this server is not registered here')
  await checkNotBlocked(inbound, from)
  await findRegistered(inbound, from)
  return answer(200, { method: 'PROXY_RESPONSE', status: 'pong', nonce: ping.data.nonce })
}
