// The inbox pipeline, as a list of steps. Each step refuses the delivery or adds to what is known of it.
// Invariant: nothing is written before applyEffect(), the last step but the acknowledgement.

import { createHash } from 'node:crypto'
import type { PeerRow } from '../store/store.ts'
import type { DeliveryMessage } from '../wire/v1/messages.ts'
import { DeliveryMessageSchema } from '../wire/v1/messages.ts'
import { parseJson } from '../wire/v1/json.ts'
import { verify } from '../wire/v1/signature.ts'
import { sealAck } from './ack.ts'
import { openEnvelope } from './open-envelope.ts'
import { applyEffect } from './effect.ts'
import type { InboundHandler } from './handlers.ts'
import { answer, type Inbound, ownOrigin, spend } from './inbound.ts'
import { type Body, type Method, methodOf } from './methods.ts'
import { checkNotBlocked, originIn, findRegistered } from './peers.ts'
import { refuse } from './refusal.ts'

const hour = 3_600_000
const oldestMs = 30 * 24 * hour
const aheadMs = hour

/** A delivery that has passed all checks. */
export interface Delivery {
  readonly message: DeliveryMessage
  readonly method: Method
  readonly handler: InboundHandler<any>
  readonly text: string
  readonly body: Body
  readonly from: string
  readonly peer: PeerRow
  /** SHA-256 of the text, in hex. */
  readonly messageKey: string
}

/**
 * @param claimed value of X-Federation-Origin, of the request or of the relayed request
 * @param address key of the client's budget, which the request has taken a use of
 */
export async function receive(inbound: Inbound, given: unknown, claimed: unknown, address: string): Promise<Response> {
  const message = parseMessage(given)
  const handler = handlerFor(inbound, message)
  const text = await openEnvelope(inbound, message.payload)
  const { method, body } = parseBody(message, text)
  const from = senderOf(inbound, body, claimed)
  await checkNotBlocked(inbound, from)
  const peer = await findRegistered(inbound, from)
  checkSignature(message, text, peer)
  checkAge(inbound, method.madeAt(body), from)
  spend(inbound.limits.peer, from, from)
  // The budget of the address is for strangers. A message beyond the peer's own budget stays counted there: a sender
  // that repeats captured messages is refused by address in the end.
  inbound.limits.ip.giveBack(address)
  const messageKey = createHash('sha256').update(text).digest('hex')
  const delivery: Delivery = { message, method, handler, text, body, from, peer, messageKey }
  const outcome = await applyEffect(inbound, delivery)
  const ack = await sealAck(inbound, delivery, outcome)
  inbound.context.emit('received', { from, method: message.method })
  return answer(200, ack)
}

/** Checks the shape, exact lengths included. */
function parseMessage(given: unknown): DeliveryMessage {
  const message = DeliveryMessageSchema.safeParse(given)
  if (!message.success) throw refuse('INVALID_PAYLOAD', message.error.message)
  return message.data
}

function handlerFor({ handlers }: Inbound, { method }: DeliveryMessage): InboundHandler<any> {
  const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined
  if (!handler) throw refuse('METHOD_NOT_SUPPORTED', 'this server has no handler for the method')
  return handler
}

function parseBody(message: DeliveryMessage, text: string): { readonly method: Method; readonly body: Body } {
  const method = methodOf(message.method)
  const body = method.read(parseJson(text)?.value)
  if (!body) throw refuse(method.refusedWith, `the decrypted body does not have the shape of ${message.method}`)
  return { method, body }
}

function senderOf(inbound: Inbound, { federationUrl }: Body, claimed: unknown): string {
  const from = originIn(claimed, inbound.context)
  const isOne = from !== undefined && from !== ownOrigin(inbound) && from === originIn(federationUrl, inbound.context)
  // The reply does not quote federationUrl: its sender is not authenticated yet.
  if (!isOne)
    throw refuse('ORIGIN_MISMATCH', 'federationUrl and X-Federation-Origin do not name one other server', { from })
  return from
}

/** Verifies over the decrypted text as received. */
function checkSignature({ signature }: DeliveryMessage, text: string, { publicKey, url }: PeerRow): void {
  if (verify(text, signature, publicKey)) return
  throw refuse('INVALID_SIGNATURE', 'the signature is not that of the pinned key of the sender', { from: url })
}

function checkAge({ context }: Inbound, madeAt: number, from: string): void {
  const now = context.clock.now()
  if (madeAt >= now - oldestMs && madeAt <= now + aheadMs) return
  throw refuse('STALE_MESSAGE', 'the signed instant is more than 30 days old, or more than an hour ahead', { from })
}
