// Handles the acknowledgement of a follow: decrypts it, compares it with what was sent, verifies it and applies it. Applying it
// again changes nothing.

import { canonicalOrigin } from '../origin.ts'
import type { FederationContext } from '../context.ts'
import { type FollowEnvelope, FollowEnvelopeSchema } from '../wire/v1/acks.ts'
import { parseJson } from '../wire/v1/json.ts'
import type { AckPayload } from '../wire/v1/messages.ts'
import { isObject } from '../wire/v1/schema.ts'
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
  await applyFollowAck(context, ackPayload, ack, jobId)
}

/** @param ack its serverUrl must be canonical @throws as decryptAck() and verifyAck() */
export async function applyFollowAck(
  context: FederationContext,
  ackPayload: Pick<AckPayload, 'data' | 'signature'>,
  ack: AckedDelivery,
  jobId: string | undefined,
): Promise<void> {
  const { store, logger } = context
  const { serverUrl: origin } = ack
  const { text, value } = await decryptAck(context, ackPayload.data, ack)
  const checked = FollowEnvelopeSchema.safeParse(value)
  if (!checked.success) throw await ackInvalid(context, ack, 'it does not have the shape of a follow acknowledgement')
  const { following } = checked.data
  if (!(await isAbout(context, ack.deliveryJobId, following)))
    throw await ackInvalid(context, ack, 'it names another follow')
  await verifyAck(context, text, ackPayload.signature, ack)

  const row = await store.follows.find(following.followerId, following.followingId, origin, origin)
  if (row) return store.follows.acknowledge(row.id, following.accepted === true)
  logger?.debug?.({ jobId, origin }, 'federation: the acknowledged follow has no row. The acknowledgement was ignored.')
}

/** Compares the parties with those of the delivery's row. Without a row there is nothing to compare. */
async function isAbout(
  { store }: FederationContext,
  deliveryJobId: string,
  { followerId, followingId }: FollowEnvelope['following'],
): Promise<boolean> {
  const delivery = await store.deliveries.get(deliveryJobId)
  if (!delivery) return true
  const sent = parseJson(delivery.payload)?.value
  const following: unknown = isObject(sent) ? sent['following'] : undefined
  return isObject(following) && following['followerId'] === followerId && following['followingId'] === followingId
}
