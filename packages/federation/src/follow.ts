// Follows a user on another server: the follows row, the delivery's row and its job, in one transaction where the storage shares the
// database of the tables. Where it does not, the job is added after the commit; upkeep adds it if that did not come to be.

import { canonicalOrigin } from './origin.ts'
import { FederationError } from './errors.ts'
import type { FederationDeliveryJob } from './jobs.ts'
import type { FederationQueue } from './queues.ts'
import type { SendingContext } from './context.ts'
import type { FollowRow, StoreTransaction } from './store/store.ts'
import type { Storage } from 'holdfast'

export interface FollowRequest {
  /** Here. */
  readonly followerId: string
  /** There. */
  readonly followingId: string
  readonly serverUrl: string
  /** Of the peer's inbox. @default '/api/auth/social/follows' */
  readonly path?: string
}

export interface Followed {
  readonly follow: FollowRow
  readonly deliveryJobId: string
}

interface Ways {
  readonly storage: Storage
  readonly queue: FederationQueue<FederationDeliveryJob>
}

/**
 * Once for each pair: a repeat is another try where the first one failed, and nothing otherwise.
 * @param given a transaction of the app's; without a shared database the job comes by upkeep then, within two minutes of the commit
 * @throws FederationError ORIGIN_INVALID, ORIGIN_MISSING
 */
export async function follow(context: SendingContext, ways: Ways, request: FollowRequest, given?: unknown): Promise<Followed> {
  const { store } = context
  if (context.origin === undefined) throw new FederationError('ORIGIN_MISSING', 'the origin of this server is not set')
  const { followerId, followingId, path = '/api/auth/social/follows' } = request
  const origin = canonicalOrigin(request.serverUrl, context)
  const fresh: FollowRow = {
    id: context.clock.newId(),
    followerId,
    followingId,
    // The other party's, on both sides: by it its acknowledgement is found.
    followerServerUrl: origin,
    followingServerUrl: origin,
    accepted: false,
    acknowledged: false,
    createdAt: context.clock.now(),
  }
  const standing = await store.follows.find(followerId, followingId, origin)
  const before = standing && (await store.deliveries.get(idOf(standing)))
  const write = async (
    tx: StoreTransaction,
  ): Promise<{ followed: Followed; job: FederationDeliveryJob | undefined }> => {
    const { row } = await store.follows.insert(fresh, tx)
    const followed = { follow: row, deliveryJobId: idOf(row) }
    if (row.acknowledged || before?.status === 'open') return { followed, job: undefined }
    if (before) await store.deliveries.remove(before.id, tx)
    const job = deliveryOf(row, context.origin!, origin, path)
    const { deliveryJobId: id, ...fields } = job
    await store.deliveries.insert({ id, name, ...fields, createdAt: context.clock.now() }, tx)
    const jobTx = store.storageTransaction(ways.storage, tx)
    if (jobTx === undefined) return { followed, job }
    await ways.queue.add(name, job, { tx: jobTx })
    return { followed, job: undefined }
  }
  if (given !== undefined) return (await write(store.join(given))).followed
  const { followed, job } = await store.transaction(write)
  if (job) await ways.queue.add(name, job)
  return followed
}

const name = 'deliver-follow'
const idOf = ({ id }: FollowRow): string => `follow_${id}`

function deliveryOf(row: FollowRow, own: string, serverUrl: string, path: string): FederationDeliveryJob {
  const { id, createdAt, followerId, followingId, accepted, followerServerUrl = null } = row
  // oxlint-disable-next-line no-restricted-globals -- writes an instant; what time it is now is not asked
  const at = new Date(createdAt).toISOString()
  const following = { id, createdAt: at, followerId, followingId, accepted, followerServerUrl }
  const payload = JSON.stringify({ following, federationUrl: own, method: 'FEDERATE' })
  return { deliveryJobId: idOf(row), targetUrl: serverUrl + path, serverUrl, payload }
}
