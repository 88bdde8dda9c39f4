// Decides later about a follow of a user of this server: the row changes, and the follower's server is told by a delivery.

import type { SendingContext } from './context.ts'
import { FederationError, originMissing } from './errors.ts'
import { canonicalOrigin } from './origin.ts'
import { type OutboxDependencies, send } from './outbox.ts'
import { followDecision } from './wire/v1/bodies.ts'
import { isoOf } from './wire/v1/instant.ts'

export interface FollowDecision {
  /** Id of the follower, on the other server. */
  readonly followerId: string
  /** Id of the followed user, on this server. */
  readonly followingId: string
  /** Origin of the follower's server. */
  readonly serverUrl: string
  /** False removes the follow. */
  readonly accepted: boolean
}

/** Returns false, and sends nothing, if there is no such follow. @throws as send() */
export async function decideFollow(
  context: SendingContext,
  dependencies: OutboxDependencies,
  { followerId, followingId, serverUrl, accepted }: FollowDecision,
  given?: unknown,
): Promise<boolean> {
  const { store, clock, origin: own } = context
  if (own === undefined) throw new FederationError('ORIGIN_MISSING', originMissing)
  const origin = canonicalOrigin(serverUrl, context)
  const row = await store.follows.find(followerId, followingId, origin, own)
  if (!row) return false
  const id = clock.newId()
  const payload = { method: followDecision, id, createdAt: isoOf(clock.now()), followerId, followingId, accepted }
  const orderKey = `decision ${JSON.stringify([followerId, followingId])}`
  const activity = { id, name: 'deliver-follow-decision', payload, orderKey }
  await send(context, dependencies, activity, [origin], { tx: given }, (tx) =>
    accepted ? store.follows.acknowledge(row.id, true, tx) : store.follows.remove(row.id, tx),
  )
  return true
}
