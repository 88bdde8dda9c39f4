// The effect of a delivery, in two steps: the app's handler decides, without a transaction; then the effect, the row in the inbox and the
// acknowledgement are written in one short transaction.

import type { FollowRow, StoreTransaction } from '../store/store.ts'
import { type FollowBody, followDecision, type FollowDecisionBody, type UnfollowBody } from '../wire/v1/bodies.ts'
import type { InboundAnswer } from './handlers.ts'
import { type Inbound, ownOrigin } from './inbound.ts'
import type { Delivery } from './pipeline.ts'
import { Refusal } from './refusal.ts'

/** What an acknowledgement is made of. It is stored as JSON. */
export interface Outcome {
  /** Row of the follow; of other methods than FEDERATE undefined. */
  readonly follow?: FollowRow
  /** Id that the handler returned. */
  readonly id?: string
}

export type Decision = Exclude<InboundAnswer, { reject: string }>

/** Asks the app's handler. Not for a follow that exists. @throws Refusal with the app's code, or the error of the handler */
export async function decide(inbound: Inbound, delivery: Delivery): Promise<Decision> {
  if (delivery.message.method === 'FEDERATE' && (await findFollow(inbound, delivery))) return {}
  const { handler, from, body, message, messageKey } = delivery
  const answer = await handler({ from, method: message.method, body, messageKey })
  if (!answer || !('reject' in answer)) return answer ?? {}
  const code = String(answer.reject)
  const status = Object.hasOwn(rejectStatus, code) ? rejectStatus[code]! : 422
  throw new Refusal(code, status, 'the application rejected the message', { from })
}

const rejectStatus: Readonly<Record<string, number>> = { USER_NOT_FOUND: 404, USER_BLOCKED: 403 }

/** Returns what apply() will answer, unless the follow exists or the app's `apply` returns an id. */
export function expected(inbound: Inbound, delivery: Delivery, { accepted = false, id }: Decision): Outcome {
  if (delivery.message.method !== 'FEDERATE') return { ...(id !== undefined && { id }) }
  const { clock } = inbound.context
  const { followerId, followingId } = (delivery.body as FollowBody).following
  const parties = { followerId, followingId, followerServerUrl: delivery.from, followingServerUrl: ownOrigin(inbound) }
  const follow = { id: clock.newId(), ...parties, accepted, acknowledged: true, createdAt: clock.now() }
  return { follow, ...(id !== undefined && { id }) }
}

/** Writes the effect. An error rolls the transaction back. @param outcome as expected */
export async function apply(
  inbound: Inbound,
  delivery: Delivery,
  decision: Decision,
  outcome: Outcome,
  tx: StoreTransaction,
): Promise<Outcome> {
  const { method } = delivery.message
  if (method === 'UNFOLLOW') await removeFollow(inbound, delivery, tx)
  if (method === followDecision) await applyDecision(inbound, delivery, tx)
  const follow = outcome.follow && (await inbound.context.store.follows.insert(outcome.follow, tx))
  // The follow exists: it was decided about before.
  if (follow && !follow.isNew) return { follow: follow.row }
  const { id = decision.id } = (await decision.apply?.(tx)) ?? {}
  return { ...(follow && { follow: follow.row }), ...(id !== undefined && { id }) }
}

function findFollow(inbound: Inbound, { body, from }: Delivery, tx?: StoreTransaction): Promise<FollowRow | undefined> {
  const { followerId, followingId } = (body as FollowBody | UnfollowBody).following
  return inbound.context.store.follows.find(followerId, followingId, from, ownOrigin(inbound), tx)
}

async function removeFollow(inbound: Inbound, delivery: Delivery, tx: StoreTransaction): Promise<void> {
  const row = await findFollow(inbound, delivery, tx)
  if (row) await inbound.context.store.follows.remove(row.id, tx)
}

/** Of a follow by a user of this server. Only the followed server decides: the row names it. A follow that has gone is ignored. */
async function applyDecision({ context }: Inbound, { body, from }: Delivery, tx: StoreTransaction): Promise<void> {
  const { follows } = context.store
  const { followerId, followingId, accepted } = body as FollowDecisionBody
  const row = await follows.find(followerId, followingId, from, from, tx)
  if (!row) return
  await (accepted ? follows.acknowledge(row.id, true, tx) : follows.remove(row.id, tx))
}
