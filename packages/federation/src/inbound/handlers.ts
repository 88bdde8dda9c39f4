// What an app does with what comes in.

import type { StoreTransaction } from '../store/store.ts'
import type { FollowBody, InsertBody, PostBody, UnfollowBody } from '../wire/v1/bodies.ts'

/** From a server that is registered, not blocked, and has signed it. */
export interface InboundMessage<Body> {
  /** The origin of the sender. */
  readonly from: string
  readonly method: string
  readonly body: Body
  /** The same for every repeat of a message: the SHA-256 of its text, in hex. */
  readonly messageKey: string
  /** What is done in it, and the follows row of FEDERATE, is there if the handler does not fail. */
  readonly tx: StoreTransaction
}

export type InboundAnswer =
  | {
      /** Of FEDERATE. Absent: not yet. */
      readonly accepted?: boolean
      /** Of FEDERATE_POST: the post's id here. @default the message's key */
      readonly id?: string
    }
  /** USER_NOT_FOUND is answered with 404, USER_BLOCKED with 403, every other code with 422. */
  | { readonly reject: string }

/** A message may come again: one whose effect is not its own repeat should look at `messageKey`. */
export type InboundHandler<Body> = (
  message: InboundMessage<Body>,
) => InboundAnswer | void | Promise<InboundAnswer | void>

/** By method. A method without one is answered with 501. */
export interface InboundHandlers {
  /** A new follow. Its row is written already, and goes if it is rejected; a repeat does not come here. */
  readonly FEDERATE?: InboundHandler<FollowBody>
  readonly FEDERATE_POST?: InboundHandler<PostBody>
  readonly UNFOLLOW?: InboundHandler<UnfollowBody>
  readonly INSERT?: InboundHandler<InsertBody>
  /** Of methods of one's own: bodies have `method`, `federationUrl`, `id` and `createdAt`. */
  readonly [method: string]: InboundHandler<any> | undefined
}
