// Handles the acknowledgement of a follow: decrypts it, compares it with what was sent, verifies it and applies it. Applying it
// again changes nothing.

import { canonicalOrigin } from '../origin.ts'
import type { FederationContext } from '../context.ts'
import { FollowEnvelopeSchema } from '../wire/v1/acks.ts'
import type { AckPayload } from '../wire/v1/messages.ts'
import { acknowledges } from './acknowledges.ts'
import { ackInvalid, type AckedDelivery, decryptAck, verifyAck } from './open-ack.ts'

/**
 * For a caller that has the reply to a direct request.
 * @throws UnrecoverableError ACK_INVALID, SIGNING_KEY_MISSING, ACK_SIGNATURE_INVALID
 */
export async function handleFollowAck(
  context: FederationContext,
  ackPayload: Pick<AckPayload, 'data' | 'signature'>,
  serverUrl: string,
  cachedServerPublicKey: string | undefined,
  deliveryJobId: string,
  jobId: string | undefined,
): Promise<void> {
  const origin = canonicalOrigin(serverUrl, context)
  const ack = { serverUrl: origin, publicKey: cachedServerPublicKey, deliveryJobId, isRelayed: false }
  const sent = (await context.store.deliveries.get(deliveryJobId))?.payload
  await applyFollowAck(context, ackPayload, ack, { sent, jobId })
}

/**
 * @param ack its serverUrl must be canonical
 * @param of.sent payload of the delivery: the acknowledgement must name its parties. Undefined: not known
 * @throws as decryptAck() and verifyAck()
 */
export async function applyFollowAck(
  context: FederationContext,
  ackPayload: Pick<AckPayload, 'data' | 'signature'>,
  ack: AckedDelivery,
  { sent, jobId }: { readonly sent: string | undefined; readonly jobId: string | undefined },
): Promise<void> {
  const { store, logger } = context
  const { serverUrl: origin } = ack
  const { text, value } = await decryptAck(context, ackPayload.data, ack)
  const checked = FollowEnvelopeSchema.safeParse(value)
  if (!checked.success) throw await ackInvalid(context, ack, 'it does not have the shape of a follow acknowledgement')
  const { following } = checked.data
  if (sent !== undefined && !acknowledges(checked.data, sent, origin)) {
    throw await ackInvalid(context, ack, 'it names another follow')
  }
  await verifyAck(context, text, ackPayload.signature, ack)

  // By the followed server, too: a follow by a user of the peer, which waits for an answer of this server, is another one.
  const row = await store.follows.find(following.followerId, following.followingId, origin, origin)
  if (row) return store.follows.acknowledge(row.id, following.accepted === true)
  logger?.debug?.({ jobId, origin }, 'federation: the acknowledged follow has no row. The acknowledgement was ignored.')
}
