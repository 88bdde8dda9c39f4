// The inbox pipeline, as a list of steps. Each step refuses the delivery or adds to what is known of it.
// Invariant: nothing but the use of the peer is written before receiveOnce(), the last step.

import { createHash } from 'node:crypto'
import type { PeerRow } from '../store/store.ts'
import { type FollowBody, followDecision } from '../wire/v1/bodies.ts'
import type { DeliveryMessage } from '../wire/v1/messages.ts'
import { DeliveryMessageSchema } from '../wire/v1/messages.ts'
import { parseJson } from '../wire/v1/json.ts'
import { verify } from '../wire/v1/signature.ts'
import type { Coming } from './commit-groups.ts'
import { openEnvelope } from './open-envelope.ts'
import type { InboundHandler } from './handlers.ts'
import { answerText, type Inbound, ownOrigin, spend } from './inbound.ts'
import { type Body, type Method, methodOf } from './methods.ts'
import { checkNotBlocked, originIn, findRegistered } from './peers.ts'
import { receiveOnce } from './receive-once.ts'
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
  const coming = inbound.commits.join()
  try {
    return await receiveNext(inbound, coming, given, claimed, address)
  } finally {
    coming.leave()
  }
}

async function receiveNext(
  inbound: Inbound,
  coming: Coming,
  given: unknown,
  claimed: unknown,
  address: string,
): Promise<Response> {
  const message = parseMessage(given)
  const handler = handlerFor(inbound, message)
  const text = await openEnvelope(inbound, message.payload)
  const { method, body } = parseBody(message, text)
  const from = senderOf(inbound, body, claimed)
  await checkNotBlocked(inbound, from)
  const peer = await findRegistered(inbound, from)
  checkSignature(message, text, peer)
  checkFollower(inbound, body, from)
  checkAge(inbound, method.madeAt(body), message.method === 'FEDERATE_POST' ? Infinity : oldestMs, from)
  spend(inbound.limits.peer, from, from)
  // The budget of the address is for strangers. A message beyond the peer's own budget stays counted there: a sender
  // that repeats captured messages is refused by address in the end.
  inbound.limits.ip.giveBack(address)
  await noteUse(inbound, peer)
  const messageKey = createHash('sha256').update(text).digest('hex')
  const delivery: Delivery = { message, method, handler, text, body, from, peer, messageKey }
  const { ack, isNew } = await receiveOnce(inbound, delivery, coming)
  if (isNew) inbound.context.emit('received', { from, method: message.method })
  return answerText(200, ack)
}

/** By the hour, so that not every message costs a write. */
async function noteUse({ context: { store, clock, heard } }: Inbound, { url, usedAt }: PeerRow): Promise<void> {
  heard?.(url)
  const now = clock.now()
  if (usedAt === undefined || usedAt < now - hour) await store.peers.used(url, now)
}

/** Checks the shape, exact lengths included. */
function parseMessage(given: unknown): DeliveryMessage {
  const message = DeliveryMessageSchema.safeParse(given)
  if (!message.success) throw refuse('INVALID_PAYLOAD', message.error.message)
  return message.data
}

/** Methods that need no handler of the app. */
const builtIn: Readonly<Record<string, InboundHandler<any>>> = { __proto__: null as never, [followDecision]: () => {} }

function handlerFor({ handlers }: Inbound, { method }: DeliveryMessage): InboundHandler<any> {
  const handler = Object.hasOwn(handlers, method) ? handlers[method] : builtIn[method]
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

/** A signed follow names the server of its follower. It must be the sender. */
function checkFollower({ context }: Inbound, body: Body, from: string): void {
  if (body.method !== 'FEDERATE') return
  const { followerServerUrl } = (body as FollowBody).following
  if (followerServerUrl === null || originIn(followerServerUrl, context) === from) return
  throw refuse('ORIGIN_MISMATCH', 'followerServerUrl is not the server that sends the follow', { from })
}

/** @param maxMs age that is accepted. A post may be older than any, as for a new follower: the inbox never forgets one */
function checkAge({ context }: Inbound, madeAt: number, maxMs: number, from: string): void {
  const now = context.clock.now()
  if (madeAt >= now - maxMs && madeAt <= now + aheadMs) return
  throw refuse('STALE_MESSAGE', 'the signed instant is more than 30 days old, or more than an hour ahead', { from })
}
