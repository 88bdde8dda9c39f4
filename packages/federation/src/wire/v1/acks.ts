// What an acknowledgement holds when it is opened, by method.

import { flag, id, instant, url } from './fields.ts'
import { literal, nullable, object, type ObjectOf, optional, schema } from './schema.ts'

const followAck = {
  following: object({
    /** The receiver's row. */
    id,
    createdAt: instant,
    followerId: id,
    followingId: id,
    /** Absent or null: received, and nothing said about it yet. */
    accepted: optional(nullable(flag)),
    followerServerUrl: nullable(url),
    acknowledged: literal(true),
  }),
  /** The delivery's: who sent it. */
  federationUrl: url,
  method: literal('FEDERATE'),
}
export type FollowEnvelope = ObjectOf<typeof followAck>
export const FollowEnvelopeSchema = schema(object(followAck))

const postAck = {
  post: object({
    /** The receiver's. */
    id,
    /** The sender's. */
    federationPostId: id,
  }),
  /** The server that acknowledges. */
  federationUrl: url,
  method: literal('FEDERATE_POST'),
}
export const PostAckSchema = schema(object(postAck))

const otherAck = { method: id, federationUrl: url, id }

/** Of every other method. `id`: that of the delivery's body. */
export const OtherAckSchema = schema(object(otherAck))
