// Follows a user on another server: writes the follow, the row of the delivery and its job. Where the storage shares the database
// of the tables, all three are one transaction. Elsewhere the job is added after the commit, or by upkeep if the process dies first.

import { canonicalOrigin } from './origin.ts'
import { FederationError, originMissing } from './errors.ts'
import type { FederationDeliveryJob } from './jobs.ts'
import type { FederationQueue } from './queues.ts'
import type { SendingContext } from './context.ts'
import type { FollowRow, StoreTransaction } from './store/store.ts'
import { isoOf } from './wire/v1/instant.ts'
import type { Storage } from 'holdfast'

export interface FollowRequest {
  /** Id of the follower, on this server. */
  readonly followerId: string
  /** Id of the followed user, on the other server. */
  readonly followingId: string
  /** Origin of the other server. */
  readonly serverUrl: string
  /** Path of the peer's inbox. @default '/api/auth/social/follows' */
  readonly path?: string
}

export interface FollowResult {
  /** The row of the follow. `acknowledged` and `accepted` change when the peer answers. */
  readonly follow: FollowRow
  /** Id of the delivery's row and of its job. */
  readonly deliveryJobId: string
}

interface Dependencies {
  readonly storage: Storage
  readonly queue: FederationQueue<FederationDeliveryJob>
}

/**
 * Follows once per pair of users. A repeat sends again if the first delivery failed, and changes nothing otherwise.
 * @param given a transaction of the app. Without a shared database, upkeep adds the job within two minutes of its commit.
 * @throws FederationError ORIGIN_INVALID, ORIGIN_MISSING
 */
export async function follow(
  context: SendingContext,
  { storage, queue }: Dependencies,
  request: FollowRequest,
  given?: unknown,
): Promise<FollowResult> {
  const { store } = context
  if (context.origin === undefined) throw new FederationError('ORIGIN_MISSING', originMissing)
  const { followerId, followingId, path = '/api/auth/social/follows' } = request
  const origin = canonicalOrigin(request.serverUrl, context)
  const fresh: FollowRow = {
    id: context.clock.newId(),
    followerId,
    followingId,
    // The origin of the remote party, on both sides: the acknowledgement is matched by it.
    followerServerUrl: origin,
    followingServerUrl: origin,
    accepted: false,
    acknowledged: false,
    createdAt: context.clock.now(),
  }
  const standing = await store.follows.find(followerId, followingId, origin, origin)
  const before = standing && (await store.deliveries.get(idOf(standing)))
  const write = async (
    tx: StoreTransaction,
  ): Promise<{ followed: FollowResult; job: FederationDeliveryJob | undefined }> => {
    const { row } = await store.follows.insert(fresh, tx)
    const followed = { follow: row, deliveryJobId: idOf(row) }
    if (row.acknowledged || before?.status === 'open') return { followed, job: undefined }
    if (before) await store.deliveries.remove(before.id, tx)
    const job = deliveryOf(row, { own: context.origin!, serverUrl: origin, path, sentAt: context.clock.now() })
    const { deliveryJobId: id, ...fields } = job
    await store.deliveries.insert({ id, name, ...fields, createdAt: context.clock.now() }, tx)
    const jobTx = store.storageTransaction(storage, tx)
    if (jobTx === undefined) return { followed, job }
    await queue.add(name, job, { tx: jobTx })
    return { followed, job: undefined }
  }
  if (given !== undefined) return (await write(store.join(given))).followed
  const { followed, job } = await store.transaction(write)
  if (job) await queue.add(name, job)
  return followed
}

const name = 'deliver-follow'
const idOf = ({ id }: FollowRow): string => `follow_${id}`

interface Sending {
  readonly own: string
  readonly serverUrl: string
  readonly path: string
  readonly sentAt: number
}

/** The message has the instant of sending, not that of the follow: the peer refuses messages of more than 30 days. */
function deliveryOf(row: FollowRow, { own, serverUrl, path, sentAt }: Sending): FederationDeliveryJob {
  const { id, followerId, followingId, accepted, followerServerUrl = null } = row
  const following = { id, createdAt: isoOf(sentAt), followerId, followingId, accepted, followerServerUrl }
  const payload = JSON.stringify({ following, federationUrl: own, method: 'FEDERATE' })
  return { deliveryJobId: idOf(row), targetUrl: serverUrl + path, serverUrl, payload }
}
