// The decrypted bodies of deliveries, by method.

import { count, flag, id, instant, text, url } from './fields.ts'
import { is, list, literal, nullable, object, type ObjectOf, oneOf, schema } from './schema.ts'

const maxBlocks = 1000

const followBody = {
  following: object({
    id,
    createdAt: instant,
    followerId: id,
    followingId: id,
    accepted: flag,
    followerServerUrl: nullable(url),
  }),
  /** Origin of the sender. */
  federationUrl: url,
  method: literal('FEDERATE'),
}
export type FollowBody = ObjectOf<typeof followBody>
export const FollowBodySchema = schema(object(followBody))

const textBlock = object({ type: literal('text'), value: text })
const imageBlock = object({ type: literal('image'), url, index: count, size: count })
const videoBlock = object({ type: literal('video'), url, index: count, size: count })
const audioBlock = object({ type: literal('audio'), url, size: count })
const linkBlock = object({ type: literal('link'), url })

const postBody = {
  method: literal('FEDERATE_POST'),
  federationUrl: url,
  post: object({
    id,
    content: list(
      oneOf<PostBlock>(
        'a block: text, image, video, audio or link',
        textBlock,
        imageBlock,
        videoBlock,
        audioBlock,
        linkBlock,
      ),
      { min: 1, max: maxBlocks },
    ),
    authorId: id,
    published: instant,
    isPrivate: flag,
  }),
}
export type PostBlock =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'image' | 'video'; readonly url: string; readonly index: number; readonly size: number }
  | { readonly type: 'audio'; readonly url: string; readonly size: number }
  | { readonly type: 'link'; readonly url: string }
export type PostBody = ObjectOf<typeof postBody>
export const PostBodySchema = schema(object(postBody))

const unfollowBody = {
  method: literal('UNFOLLOW'),
  federationUrl: url,
  following: object({ id, createdAt: instant, followerId: id, followingId: id }),
}
export type UnfollowBody = ObjectOf<typeof unfollowBody>
export const UnfollowBodySchema = schema(object(unfollowBody))

/** Our own method: the later answer to a follow. */
export const followDecision = 'FOLLOW_DECISION'

const followDecisionBody = {
  method: literal(followDecision),
  federationUrl: url,
  id,
  createdAt: instant,
  followerId: id,
  followingId: id,
  accepted: flag,
}
export type FollowDecisionBody = ObjectOf<typeof followDecisionBody>
export const FollowDecisionBodySchema = schema(object(followDecisionBody))

const insertBody = {
  method: literal('INSERT'),
  federationUrl: url,
  id,
  createdAt: instant,
  /** Any JSON value of the app. */
  data: is('a value', (value): value is NonNullable<unknown> | null => value !== undefined),
}
export type InsertBody = ObjectOf<typeof insertBody>
export const InsertBodySchema = schema(object(insertBody))
