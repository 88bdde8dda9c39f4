// What happens to a delivery that came in, step by step: each step takes what the one before has found out, and refuses or
// adds to it. Nothing has an effect before the last but one.

import { createHash } from 'node:crypto'
import type { PeerRow } from '../store/store.ts'
import type { DeliveryMessage } from '../wire/v1/messages.ts'
import { DeliveryMessageSchema } from '../wire/v1/messages.ts'
import { parseJson } from '../wire/v1/json.ts'
import { verify } from '../wire/v1/signature.ts'
import { sealedAck } from './ack.ts'
import { opened } from './opened.ts'
import { applied } from './effect.ts'
import type { InboundHandler } from './handlers.ts'
import { answer, type Inbound, ownOrigin, spend } from './inbound.ts'
import { type Body, type Method, methodOf } from './methods.ts'
import { checkNotBlocked, originIn, registered } from './peers.ts'
import { refuse } from './refusal.ts'

const hour = 3_600_000
const oldestMs = 30 * 24 * hour
const aheadMs = hour

/** What is known of a delivery once all steps have passed it. */
export interface Delivery {
  readonly message: DeliveryMessage
  readonly method: Method
  readonly handler: InboundHandler<any>
  readonly text: string
  readonly body: Body
  readonly from: string
  readonly peer: PeerRow
  /** The SHA-256 of its text, in hex. */
  readonly messageKey: string
}

/** @param claimed what X-Federation-Origin says, of the request or of what was relayed */
export async function receive(inbound: Inbound, given: unknown, claimed: unknown): Promise<Response> {
  const message = shaped(given)
  const handler = handlerFor(inbound, message)
  const text = await opened(inbound, message.payload)
  const { method, body } = understood(message, text)
  const from = senderOf(inbound, body, claimed)
  await checkNotBlocked(inbound, from)
  const peer = await registered(inbound, from)
  checkSignature(message, text, peer)
  checkAge(inbound, method.madeAt(body), from)
  spend(inbound.limits.peer, from, from)
  const messageKey = createHash('sha256').update(text).digest('hex')
  const delivery: Delivery = { message, method, handler, text, body, from, peer, messageKey }
  const outcome = await applied(inbound, delivery)
  const ack = await sealedAck(inbound, delivery, outcome)
  inbound.context.emit('received', { from, method: message.method })
  return answer(200, ack)
}

/** Exact lengths included. */
function shaped(given: unknown): DeliveryMessage {
  const message = DeliveryMessageSchema.safeParse(given)
  if (!message.success) throw refuse('INVALID_PAYLOAD', message.error.message)
  return message.data
}

function handlerFor({ handlers }: Inbound, { method }: DeliveryMessage): InboundHandler<any> {
  const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined
  if (!handler) throw refuse('METHOD_NOT_SUPPORTED', 'this method is not served here')
  return handler
}

function understood(message: DeliveryMessage, text: string): { readonly method: Method; readonly body: Body } {
  const method = methodOf(message.method)
  const body = method.read(parseJson(text)?.value)
  if (!body) throw refuse(method.refusedWith, `what was sealed is not of the method ${message.method}`)
  return { method, body }
}

function senderOf(inbound: Inbound, { federationUrl }: Body, claimed: unknown): string {
  const from = originIn(claimed, inbound.context)
  const isOne = from !== undefined && from !== ownOrigin(inbound) && from === originIn(federationUrl, inbound.context)
  // What was sealed is not told further, before it is known whose it is.
  if (!isOne) throw refuse('ORIGIN_MISMATCH', 'the sender is not the server that it says it is', { from })
  return from
}

/** Over what was decrypted, as it was received. */
function checkSignature({ signature }: DeliveryMessage, text: string, { publicKey, url }: PeerRow): void {
  if (verify(text, signature, publicKey)) return
  throw refuse('INVALID_SIGNATURE', 'the signature is not that of the sender', { from: url })
}

function checkAge({ context }: Inbound, madeAt: number, from: string): void {
  const now = context.clock.now()
  if (madeAt >= now - oldestMs && madeAt <= now + aheadMs) return
  throw refuse('STALE_MESSAGE', 'the message is older than 30 days, or from the future', { from })
}
