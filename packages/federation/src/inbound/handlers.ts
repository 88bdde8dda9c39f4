// The app's handlers of inbound messages.

import type { StoreTransaction } from '../store/store.ts'
import type { FollowBody, FollowDecisionBody, InsertBody, PostBody, UnfollowBody } from '../wire/v1/bodies.ts'

/** A message of a registered server that is not blocked. Its signature is verified. */
export interface InboundMessage<Body> {
  /** Origin of the sender. */
  readonly from: string
  readonly method: string
  /** Checked. For the built-in methods it has the described fields only. */
  readonly body: Body
  /** SHA-256 of the message text, in hex. The same for every repeat of a message. */
  readonly messageKey: string
}

/** Writes the effect of a message. Runs once per message. It may return the id for the acknowledgement. */
export type Apply = (tx: StoreTransaction) => ApplyAnswer | void | Promise<ApplyAnswer | void>

export interface ApplyAnswer {
  /** As `id` of an InboundAnswer. */
  readonly id?: string
}

export type InboundAnswer =
  | {
      /** For FEDERATE: whether the follow is accepted. Absent: not decided yet. */
      readonly accepted?: boolean
      /** For FEDERATE_POST: id of the post on this server. @default the message key */
      readonly id?: string
      /**
       * Writes the effect in the transaction that also stores the message as received, and its acknowledgement. Keep it short: other
       * writers wait for it.
       */
      readonly apply?: Apply
    }
  /** Rejects the message: USER_NOT_FOUND answers 404, USER_BLOCKED 403, any other code 422. */
  | { readonly reject: string }

/**
 * Decides about a message. No transaction is open meanwhile. A message may be asked about more than once, as after a crash, but `apply` of
 * the answer runs once.
 */
export type InboundHandler<Body> = (
  message: InboundMessage<Body>,
) => InboundAnswer | void | Promise<InboundAnswer | void>

/** Handlers by method. A method without a handler is answered with 501. */
export interface InboundHandlers {
  /** Handles a new follow. Its row is written with `apply` of the answer. A follow that exists does not call the handler. */
  readonly FEDERATE?: InboundHandler<FollowBody>
  readonly FEDERATE_POST?: InboundHandler<PostBody>
  /** Handles an unfollow. The row of the follow is removed with `apply` of the answer. */
  readonly UNFOLLOW?: InboundHandler<UnfollowBody>
  readonly INSERT?: InboundHandler<InsertBody>
  /** The later answer to a follow by a user of this server. Its row is accepted, or removed, with or without a handler. */
  readonly FOLLOW_DECISION?: InboundHandler<FollowDecisionBody>
  /** Handlers of your own methods. Their bodies have `method`, `federationUrl`, `id` and `createdAt`. */
  readonly [method: string]: InboundHandler<any> | undefined
}
