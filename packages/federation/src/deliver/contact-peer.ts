// One attempt in the profile `hardened`: what a failure means for the delivery and for its peer. A failed contact costs the delivery nothing;
// it ends by its age, or by an answer that no repetition can mend.

import { isHoldfastError } from 'holdfast'
import { type FederationErrorCode, federationCodeOf } from '../errors.ts'
import type { PeerContacts } from '../peers/contacts.ts'
import { askedWaitMs } from './asked-to-wait.ts'
import type { Delivery } from './delivery.ts'
import { endAndKeep } from './end.ts'
import type { Delivered } from './process.ts'

/** Statuses that a repetition does not change. */
const final: ReadonlySet<number> = new Set([400, 404, 405, 410, 413, 415, 421, 422, 501])
/** Statuses below 500 that mean "not now". They concern the peer, until they concern one delivery alone. */
const notNow: ReadonlySet<number> = new Set([408, 425, 429])
/** Codes of a reply that is no valid acknowledgement, such as the page of a server under maintenance. */
const badReplies: ReadonlySet<FederationErrorCode> = new Set<FederationErrorCode>([
  'RESPONSE_NOT_JSON',
  'ACK_MISSING',
  'ACK_INVALID',
  'SIGNING_KEY_MISSING',
  'ACK_SIGNATURE_INVALID',
])
/** Attempts of a delivery that is redirected, forbidden or answered without a valid acknowledgement. */
const maxAnswered = 3
/** Answers of "not now" or of an error of the server after which a delivery is given up, if the server accepts others. */
const maxRefused = 8

/** @param transmit sends the delivery */
export async function contactPeer(
  delivery: Delivery,
  contacts: PeerContacts,
  origin: string,
  transmit: () => Promise<Delivered>,
): Promise<Delivered> {
  const { context, data, signal, acceptedAt, ahead } = delivery
  const { clock, policies } = context
  const id = data.deliveryJobId
  if (acceptedAt !== undefined && clock.now() - acceptedAt > policies.delivery.horizonMs) {
    const message = `delivery to ${origin}: it is older than policies.delivery.horizonMs. The delivery ended.`
    throw await endAndKeep(context, id, 'EXPIRED', message)
  }
  const read = ahead?.origin === origin ? await ahead.state : undefined
  const { known, end } = await contacts.begin(context, origin, signal, read)
  const startedAt = clock.now()
  try {
    if (known?.state === 'gone') {
      const message = `delivery to ${origin}: the server has ended. The delivery ended. See peers.probe().`
      throw await endAndKeep(context, id, 'PEER_GONE', message)
    }
    const delivered = await transmit()
    await contacts.succeeded(context, origin)
    context.metrics.add('contacts', 'ok')
    return delivered
  } catch (error) {
    if (signal?.aborted || isHoldfastError(error, 'UNRECOVERABLE') || askedWaitMs(error) !== undefined) throw error
    throw await afterError(delivery, contacts, origin, startedAt, error)
  } finally {
    end()
  }
}

/** Returns the error that the attempt ends with. */
async function afterError(
  { context, data, attempt }: Delivery,
  contacts: PeerContacts,
  origin: string,
  startedAt: number,
  error: unknown,
): Promise<unknown> {
  const id = data.deliveryJobId
  const code = federationCodeOf(error)
  if (code === undefined) return error
  const { status = 0 } = error as { readonly status?: number }
  const isAnswered = status >= 300 && status <= 499 && !notNow.has(status)
  if (final.has(status) || isAnswered) {
    // The server answered: it is well, and refuses this delivery. A redirect may be a mistake of an hour, and who is forbidden may register
    // again meanwhile, so these and rarer ones are repeated, at the expense of the delivery.
    await contacts.succeeded(context, origin)
    if (!final.has(status) && attempt < maxAnswered) return error
    const message = `delivery to ${origin}: the server answered ${status}. The delivery ended.`
    return endAndKeep(context, id, 'HTTP_STATUS', message, error)
  }
  if (badReplies.has(code)) {
    await contacts.failed(context, origin, { startedAt, cause: error })
    return attempt < maxAnswered ? error : endAndKeep(context, id, code, (error as Error).message, error)
  }
  if (code !== 'TRANSPORT' && code !== 'HTTP_STATUS' && code !== 'DISCOVERY_FAILED') return error
  if (status > 0 && (await context.store.deliveries.refused(id)) >= maxRefused) {
    const { createdAt = startedAt } = (await context.store.deliveries.get(id)) ?? {}
    const { lastSuccessAt = 0 } = (await context.store.peerStates.get(origin)) ?? {}
    const message = `delivery to ${origin}: the server accepts others and answers ${status} to this one. The delivery ended.`
    if (lastSuccessAt > createdAt) return endAndKeep(context, id, 'PEER_REFUSES', message, error)
  }
  return contacts.failed(context, origin, { startedAt, cause: error })
}
