// The methods: the shape of each body, its signed instant, and the id that an acknowledgement names.

import { FederationError } from '../errors.ts'
import {
  type FollowBody,
  FollowBodySchema,
  followDecision,
  type FollowDecisionBody,
  FollowDecisionBodySchema,
  type InsertBody,
  InsertBodySchema,
  type PostBody,
  PostBodySchema,
  type UnfollowBody,
  UnfollowBodySchema,
} from '../wire/v1/bodies.ts'
import { id, instant, url } from '../wire/v1/fields.ts'
import { instantOf } from '../wire/v1/instant.ts'
import { object, schema } from '../wire/v1/schema.ts'
import type { RefusalCode } from './refusal.ts'

/** The decrypted body of a delivery. */
export interface Body {
  readonly method: string
  readonly federationUrl: string
}

export interface Method {
  /** Code of the refusal of a body with another shape. */
  readonly refusedWith: RefusalCode
  /** Returns the body; undefined if it does not have the shape of this method. */
  read(value: unknown): Body | undefined
  /** Returns what is wrong with the shape of a body; undefined if nothing is. */
  problemOf(value: unknown): string | undefined
  /** Returns the signed instant of the message, epoch ms. */
  madeAt(body: Body): number
  /** Returns the id that the acknowledgement names. */
  idOf(body: Body): string
}

interface Reader<T> {
  safeParse(
    value: unknown,
  ): { readonly success: true; readonly data: T } | { readonly success: false; readonly error: Error }
}

function method<T extends Body>(
  reader: Reader<T>,
  made: (body: T) => string,
  idOf: (body: T) => string,
  refusedWith: RefusalCode = 'INVALID_PAYLOAD',
): Method {
  return {
    refusedWith,
    read(value) {
      const read = reader.safeParse(value)
      return read.success ? read.data : undefined
    },
    problemOf(value) {
      const read = reader.safeParse(value)
      return read.success ? undefined : read.error.message
    },
    madeAt: (body) => instantOf(made(body as T))!,
    idOf: (body) => idOf(body as T),
  }
}

const methods: Readonly<Record<string, Method>> = {
  FEDERATE: method<FollowBody>(
    FollowBodySchema,
    (body) => body.following.createdAt,
    (body) => body.following.id,
  ),
  FEDERATE_POST: method<PostBody>(
    PostBodySchema,
    (body) => body.post.published,
    (body) => body.post.id,
    'INVALID_FEDERATED_POST_PAYLOAD',
  ),
  UNFOLLOW: method<UnfollowBody>(
    UnfollowBodySchema,
    (body) => body.following.createdAt,
    (body) => body.following.id,
  ),
  [followDecision]: method<FollowDecisionBody>(
    FollowDecisionBodySchema,
    (body) => body.createdAt,
    (body) => body.id,
  ),
  INSERT: method<InsertBody>(
    InsertBodySchema,
    (body) => body.createdAt,
    (body) => body.id,
  ),
}

interface OwnBody extends Body {
  readonly id: string
  readonly createdAt: string
}

const OwnBodySchema = schema(object({ method: id, federationUrl: url, id, createdAt: instant }))

/** A method of the app. The handler receives all fields of its body. */
function ownMethod(name: string): Method {
  const reader: Reader<OwnBody> = {
    safeParse(value) {
      const fits = OwnBodySchema.safeParse(value)
      if (!fits.success) return fits
      if (fits.data.method !== name)
        return { success: false, error: new FederationError('MESSAGE_INVALID', `method: expected ${name}.`) }
      return { success: true, data: value as unknown as OwnBody }
    },
  }
  return method<OwnBody>(
    reader,
    (body) => body.createdAt,
    (body) => body.id,
  )
}

export const methodOf = (name: string): Method => (Object.hasOwn(methods, name) ? methods[name]! : ownMethod(name))
