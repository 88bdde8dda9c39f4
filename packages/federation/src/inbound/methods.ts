// What is read, acknowledged, and how old it is, by method.

import {
  type FollowBody,
  FollowBodySchema,
  type InsertBody,
  InsertBodySchema,
  type PostBody,
  PostBodySchema,
  type UnfollowBody,
  UnfollowBodySchema,
} from '../wire/v1/bodies.ts'
import { id, instant, url } from '../wire/v1/fields.ts'
import { instantOf } from '../wire/v1/instant.ts'
import { isObject, object, schema } from '../wire/v1/schema.ts'
import type { RefusalCode } from './refusal.ts'

/** The body of a delivery, opened. */
export interface Body {
  readonly method: string
  readonly federationUrl: string
}

export interface Method {
  readonly refusedWith: RefusalCode
  /** Undefined: it is not of this method's shape. */
  read(value: unknown): Body | undefined
  /** When it was made, as its sender signed, in epoch ms. */
  madeAt(body: Body): number
  /** Of what an acknowledgement names it by. */
  idOf(body: Body): string
}

interface Reader<T> {
  safeParse(value: unknown): { readonly success: true; readonly data: T } | { readonly success: false }
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

/** Methods of the app's own: all that they hold goes to the handler. */
function ownMethod(name: string): Method {
  const reader: Reader<OwnBody> = {
    safeParse(value) {
      const fits = OwnBodySchema.safeParse(value)
      if (!fits.success || !isObject(value) || fits.data.method !== name) return { success: false }
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
