// A follow acknowledged without proof. The original of the v1 wire answers a direct follow with `{"status":"acknowledged"}`, without an
// envelope and a signature. Such a reply counts for what it is: TLS says that it came from the peer, and it has no signature. So the follow
// becomes acknowledged and never accepted, and the event says that there is no proof.

import type { FederationResponse } from '../peers/federation-fetch.ts'
import { parseJson } from '../wire/v1/json.ts'
import { isObject } from '../wire/v1/schema.ts'
import type { FollowBody } from '../wire/v1/bodies.ts'
import type { Delivery } from './delivery.ts'
import type { KnownPeer } from './find-peer.ts'

/** @param method of the payload */
export function isUnprovenAck(
  { context, acks, name }: Delivery,
  method: string,
  peer: KnownPeer,
  { body, via }: Pick<FederationResponse, 'body' | 'via'>,
): boolean {
  if (!context.policies.delivery.acceptUnprovenFollowAcks || method !== 'FEDERATE') return false
  if (name !== 'deliver-follow' || Object.hasOwn(acks, name)) return false
  // Directly, over TLS, from a server whose keys are pinned: the least that says who answered.
  if (via !== undefined || peer.publicKey === undefined || !peer.url.startsWith('https:')) return false
  const reply = parseJson(Buffer.from(body).toString())?.value
  return isObject(reply) && reply['status'] === 'acknowledged' && !('method' in reply) && !('payload' in reply)
}

export async function applyUnprovenAck({ context, data }: Delivery, { url }: KnownPeer): Promise<void> {
  const { following } = JSON.parse(data.payload) as Partial<FollowBody>
  if (typeof following?.followerId !== 'string' || typeof following.followingId !== 'string') return
  const row = await context.store.follows.find(following.followerId, following.followingId, url, url)
  if (row) await context.store.follows.acknowledge(row.id, false)
}
