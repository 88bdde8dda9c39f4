// Follows a user on another server, and takes a follow back: writes the follow, the row of the delivery and its job, as one transaction where
// the storage shares the database of the tables (outbox.ts).

import { canonicalOrigin } from './origin.ts'
import { FederationError, originMissing } from './errors.ts'
import { invalidArgument } from './invalid-argument.ts'
import type { FederationDeliveryJob } from './jobs.ts'
import { type OutboxDependencies, writeWithJobs } from './outbox.ts'
import type { SendingContext } from './context.ts'
import type { FollowRow, StoreTransaction } from './store/store.ts'
import { id as idText } from './wire/v1/fields.ts'
import { isoOf } from './wire/v1/instant.ts'
import { schema } from './wire/v1/schema.ts'

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

/**
 * Follows once per pair of users. A repeat sends again if the first delivery failed, and changes nothing otherwise.
 * @param given a transaction of the app. Without a shared database, upkeep adds the job within two minutes of its commit.
 * @throws FederationError ORIGIN_INVALID, ORIGIN_MISSING; TypeError INVALID_ARGUMENT
 */
export async function follow(
  context: SendingContext,
  dependencies: OutboxDependencies,
  request: FollowRequest,
  given?: unknown,
): Promise<FollowResult> {
  const { store } = context
  const { followerId, followingId } = request
  const { own, origin, path } = partiesOf(context, request)
  const standing = await store.follows.find(followerId, followingId, origin, origin)
  const before = standing && (await store.deliveries.get(idOf(standing)))
  const row: FollowRow = standing ?? {
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
  if (row.acknowledged || before?.status === 'open') return { follow: row, deliveryJobId: idOf(row) }
  return writeWithJobs(context, dependencies, followName, given, async (tx) => {
    const { row: written } = await store.follows.insert(row, tx)
    const value = { follow: written, deliveryJobId: idOf(written) }
    // Another call wrote the follow meanwhile, and sends it.
    if (written.id !== row.id) return { value, jobs: [] }
    const job = followJob(row, { own, serverUrl: origin, path, sentAt: context.clock.now() })
    if (before) await store.deliveries.remove(before.id, tx)
    await insertDelivery(context, followName, job, tx)
    return { value, jobs: [job] }
  })
}

/** Takes a follow back. Returns false, and sends nothing, if there is none. @throws as follow() */
export async function unfollow(
  context: SendingContext,
  dependencies: OutboxDependencies,
  request: FollowRequest,
  given?: unknown,
): Promise<boolean> {
  const { store, clock } = context
  const { followerId, followingId } = request
  const { own, origin, path } = partiesOf(context, request)
  const row = await store.follows.find(followerId, followingId, origin, origin)
  if (!row) return false
  const following = { id: row.id, createdAt: isoOf(clock.now()), followerId, followingId }
  const job: FederationDeliveryJob = {
    deliveryJobId: `unfollow_${row.id}`,
    targetUrl: origin + path,
    serverUrl: origin,
    payload: JSON.stringify({ method: 'UNFOLLOW', federationUrl: own, following }),
    orderKey: orderKeyOf(row),
  }
  return writeWithJobs(context, dependencies, 'deliver-unfollow', given, async (tx) => {
    await store.follows.remove(row.id, tx)
    await insertDelivery(context, 'deliver-unfollow', job, tx)
    return { value: true, jobs: [job] }
  })
}

const IdSchema = schema(idText)

interface Parties {
  readonly own: string
  readonly origin: string
  readonly path: string
}

function partiesOf(context: SendingContext, request: FollowRequest): Parties {
  const { serverUrl, path = '/api/auth/social/follows' } = request
  if (context.origin === undefined) throw new FederationError('ORIGIN_MISSING', originMissing)
  for (const name of ['followerId', 'followingId'] as const) {
    if (!IdSchema.safeParse(request[name]).success) throw invalidArgument(name, 'a text of 1 to 512 characters')
  }
  return { own: context.origin, origin: canonicalOrigin(serverUrl, context), path }
}

function insertDelivery(
  { store, clock }: SendingContext,
  name: string,
  { deliveryJobId: id, ...fields }: FederationDeliveryJob,
  tx: StoreTransaction,
): Promise<void> {
  return store.deliveries.insert({ id, name, ...fields, createdAt: clock.now() }, tx)
}

const followName = 'deliver-follow'
const idOf = ({ id }: FollowRow): string => `follow_${id}`

/** The follow and the unfollow of a pair are sent in order. */
const orderKeyOf = ({ followerId, followingId }: FollowRow): string =>
  `follow ${JSON.stringify([followerId, followingId])}`

interface Sending {
  readonly own: string
  readonly serverUrl: string
  readonly path: string
  readonly sentAt: number
}

/** The message has the instant of sending, not that of the follow: the peer refuses messages of more than 30 days. */
function followJob(row: FollowRow, { own, serverUrl, path, sentAt }: Sending): FederationDeliveryJob {
  const { id, followerId, followingId, accepted } = row
  // The row has the remote party's server; the message has the follower's own, and the receiver compares it with the sender.
  const following = { id, createdAt: isoOf(sentAt), followerId, followingId, accepted, followerServerUrl: own }
  const payload = JSON.stringify({ following, federationUrl: own, method: 'FEDERATE' })
  return { deliveryJobId: idOf(row), targetUrl: serverUrl + path, serverUrl, payload, orderKey: orderKeyOf(row) }
}
