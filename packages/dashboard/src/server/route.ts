// What a route is: its method, path, the permission that it asks for, and what it does.

import type { Clock } from 'holdfast'
import type { Answer } from '../shared/api.ts'
import type { Permission } from '../shared/permissions.ts'
import type { Audit } from './audit.ts'
import type { BulkActions } from './bulk-actions.ts'
import type { Handles } from './handles.ts'
import type { PeerActions } from './peers.ts'
import type { SharedReads, TimedRead } from './shared-reads.ts'

/** What all requests of a dashboard share. */
export interface Context {
  readonly handles: Handles
  readonly reads: SharedReads
  readonly bulk: BulkActions
  readonly audit: Audit
  readonly clock: Clock
  readonly basePath: string
  /** Undefined: there is no federation. */
  readonly peers: PeerActions | undefined
  token(actor: string): string
}

/** One request, authorized. */
export interface Call {
  readonly actor: string
  readonly can: ReadonlySet<Permission>
  readonly query: URLSearchParams
  /** Of the stream of a page: it may wait for the first count, a request may not. */
  readonly isStream: boolean
  /** Of a POST. */
  readonly body: Readonly<Record<string, unknown>>
}

interface RouteBase {
  /** Below `basePath/api/`. */
  readonly path: string
  readonly permission: Permission
}

/** A read of a view. The stream of a page repeats it. */
export interface View extends RouteBase {
  readonly method: 'GET'
  run(context: Context, call: Call): Promise<Answer<unknown>>
}

/** A write. What it returns is sent as JSON. */
export interface Write extends RouteBase {
  readonly method: 'POST'
  run(context: Context, call: Call): Promise<unknown>
}

export function answerOf<T, U>({ value, at, costMs }: TimedRead<T>, data: (value: T) => U): Answer<U> {
  return { at, costMs, data: data(value) }
}
