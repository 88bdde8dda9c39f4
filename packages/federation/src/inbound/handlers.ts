// The app's handlers of inbound messages.

import type { StoreTransaction } from '../store/store.ts'
import type { FollowBody, InsertBody, PostBody, UnfollowBody } from '../wire/v1/bodies.ts'

/** A message of a registered server that is not blocked. Its signature is verified. */
export interface InboundMessage<Body> {
  /** Origin of the sender. */
  readonly from: string
  readonly method: string
  /** Checked. For the built-in methods it has the described fields only. */
  readonly body: Body
  /** SHA-256 of the message text, in hex. The same for every repeat of a message. */
  readonly messageKey: string
  /** The transaction of this message. It commits if the handler succeeds, with the follow's row of FEDERATE. */
  readonly tx: StoreTransaction
}

export type InboundAnswer =
  | {
      /** For FEDERATE: whether the follow is accepted. Absent: not decided yet. */
      readonly accepted?: boolean
      /** For FEDERATE_POST: id of the post on this server. @default the message key */
      readonly id?: string
    }
  /** Rejects the message: USER_NOT_FOUND answers 404, USER_BLOCKED 403, any other code 422. */
  | { readonly reject: string }

/** Handles a message. A message may arrive more than once: compare `messageKey` unless the effect is idempotent. */
export type InboundHandler<Body> = (
  message: InboundMessage<Body>,
) => InboundAnswer | void | Promise<InboundAnswer | void>

/** Handlers by method. A method without a handler is answered with 501. */
export interface InboundHandlers {
  /** Handles a new follow. Its row is already written, and removed if the handler rejects. Repeats do not call the handler. */
  readonly FEDERATE?: InboundHandler<FollowBody>
  readonly FEDERATE_POST?: InboundHandler<PostBody>
  readonly UNFOLLOW?: InboundHandler<UnfollowBody>
  readonly INSERT?: InboundHandler<InsertBody>
  /** Handlers of your own methods. Their bodies have `method`, `federationUrl`, `id` and `createdAt`. */
  readonly [method: string]: InboundHandler<any> | undefined
}
