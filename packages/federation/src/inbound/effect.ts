// Applies a delivery: the row of a follow and the work of the app's handler, in one transaction.

import type { FollowRow, StoreTransaction } from '../store/store.ts'
import type { FollowBody } from '../wire/v1/bodies.ts'
import type { InboundAnswer } from './handlers.ts'
import { type Inbound, ownOrigin } from './inbound.ts'
import type { Delivery } from './pipeline.ts'
import { Refusal } from './refusal.ts'

export interface Outcome {
  /** Row of the follow; of other methods than FEDERATE undefined. */
  readonly follow: FollowRow | undefined
  /** Id that the handler returned. */
  readonly id: string | undefined
}

/** @throws Refusal with the app's code, or the error of the app's handler. In both cases nothing was written. */
export function applyEffect(inbound: Inbound, delivery: Delivery): Promise<Outcome> {
  const { store } = inbound.context
  return store.transaction((tx) =>
    delivery.message.method === 'FEDERATE' ? follow(inbound, delivery, tx) : handle(delivery, tx),
  )
}

/** Inserts the row first: a concurrent repeat waits for this transaction, and then finds the row. */
async function follow(inbound: Inbound, delivery: Delivery, tx: StoreTransaction): Promise<Outcome> {
  const { context } = inbound
  const { follows } = context.store
  const { following } = delivery.body as FollowBody
  const { row, isNew } = await follows.insert(
    {
      id: context.clock.newId(),
      followerId: following.followerId,
      followingId: following.followingId,
      followerServerUrl: delivery.from,
      followingServerUrl: ownOrigin(inbound),
      accepted: false,
      acknowledged: true,
      createdAt: context.clock.now(),
    },
    tx,
  )
  if (!isNew) return { follow: row, id: undefined }
  const { accepted = false, id } = await ask(delivery, tx)
  if (accepted) await follows.acknowledge(row.id, true, tx)
  return { follow: { ...row, accepted }, id }
}

async function handle(delivery: Delivery, tx: StoreTransaction): Promise<Outcome> {
  const { id } = await ask(delivery, tx)
  return { follow: undefined, id }
}

const rejectStatus: Readonly<Record<string, number>> = { USER_NOT_FOUND: 404, USER_BLOCKED: 403 }

async function ask(delivery: Delivery, tx: StoreTransaction): Promise<Exclude<InboundAnswer, { reject: string }>> {
  const { handler, from, body, message, messageKey } = delivery
  const answer = await handler({ from, method: message.method, body, messageKey, tx })
  if (!answer || !('reject' in answer)) return answer ?? {}
  const code = String(answer.reject)
  const status = Object.hasOwn(rejectStatus, code) ? rejectStatus[code]! : 422
  throw new Refusal(code, status, 'the application rejected the message', { from })
}
