// TARGETED: a request that a relay could not read. What it holds is judged as if it had come directly.

import { originOfUrl } from '../origin.ts'
import { envelope, text } from '../wire/v1/fields.ts'
import { parseJson } from '../wire/v1/json.ts'
import { is, isObject, literal, object, schema } from '../wire/v1/schema.ts'
import { opened } from './opened.ts'
import { answer, type Call, type Inbound, ownOrigin, type Route } from './inbound.ts'
import { checkNotBlocked, originIn, registered } from './peers.ts'
import { receive } from './pipeline.ts'
import { refuse } from './refusal.ts'

const longestNonce = 64

const TargetedSchema = schema(object({ payload: envelope }))
const nonce = is('a short text', (value): value is string => typeof value === 'string' && value.length <= longestNonce)
const PingSchema = schema(object({ method: literal('PING'), nonce }))
const RequestSchema = schema(
  object({ targetUrl: text, method: literal('POST'), headers: is('an object', isObject), body: text }),
)

export const targeted: Route = async (inbound, call) => {
  const given = TargetedSchema.safeParse(call.body)
  if (!given.success) throw refuse('INVALID_PAYLOAD', given.error.message)
  const inner = parseJson(await opened(inbound, given.data.payload))?.value
  if (isObject(inner) && inner['method'] === 'PING') return pong(inbound, call, inner)
  const request = RequestSchema.safeParse(inner)
  if (!request.success) throw invalid()
  const { targetUrl, headers, body } = request.data
  checkIsOurs(inbound, targetUrl)
  checkIsOurs(inbound, headerIn(headers, 'x-federation-target'))
  const claimed = originIn(headerIn(headers, 'x-federation-origin'), inbound.context)
  if (claimed === undefined || claimed !== originIn(headerIn(headers, 'origin'), inbound.context)) throw invalid()
  const message = parseJson(body)
  if (!message) throw refuse('INVALID_JSON', 'the relayed body is no JSON', { from: claimed })
  return receive(inbound, message.value, claimed)
}

/** An inbox of ours. */
function checkIsOurs(inbound: Inbound, targetUrl: unknown): void {
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

/** By its name in any case; undefined if it is there twice. */
function headerIn(headers: Readonly<Record<string, unknown>>, name: string): unknown {
  const values = Object.entries(headers).filter(([key]) => key.toLowerCase() === name)
  return values.length === 1 ? values[0]![1] : undefined
}

const invalid = (): Error =>
  refuse('INVALID_TARGETED_DATA', 'what was relayed is no request to an inbox of this server')

async function pong(inbound: Inbound, { request }: Call, inner: unknown): Promise<Response> {
  const ping = PingSchema.safeParse(inner)
  if (!ping.success) throw invalid()
  const from = originIn(request.headers.get('x-federation-origin'), inbound.context)
  if (from === undefined) throw refuse('UNKNOWN_FEDERATION_SERVER_INTERACTION', 'this server is not registered here')
  await checkNotBlocked(inbound, from)
  await registered(inbound, from)
  return answer(200, { method: 'PROXY_RESPONSE', status: 'pong', nonce: ping.data.nonce })
}
