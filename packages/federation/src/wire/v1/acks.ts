// The decrypted content of acknowledgements, by method.

import { flag, id, instant, url } from './fields.ts'
import { literal, nullable, object, type ObjectOf, optional, schema } from './schema.ts'

const followAck = {
  following: object({
    /** Id of the receiver's row. */
    id,
    createdAt: instant,
    followerId: id,
    followingId: id,
    /** Absent or null: received, and not decided yet. */
    accepted: optional(nullable(flag)),
    followerServerUrl: nullable(url),
    acknowledged: literal(true),
  }),
  /** Origin of the server that sent the delivery. */
  federationUrl: url,
  method: literal('FEDERATE'),
}
export type FollowEnvelope = ObjectOf<typeof followAck>
export const FollowEnvelopeSchema = schema(object(followAck))

const postAck = {
  post: object({
    /** Id of the post on the receiver. */
    id,
    /** Id of the post on the sender. */
    federationPostId: id,
  }),
  /** Origin of the server that acknowledges. */
  federationUrl: url,
  method: literal('FEDERATE_POST'),
}
export const PostAckSchema = schema(object(postAck))

const otherAck = { method: id, federationUrl: url, id }

/** Acknowledgement of every other method. `id` is that of the delivery's body. */
export const OtherAckSchema = schema(object(otherAck))
