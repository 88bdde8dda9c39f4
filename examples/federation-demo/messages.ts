// What the demo and its servers say to each other.

import type { FollowRow, PeerRow } from '@holdfast/federation'

/** How a server is started. */
export interface ServerConfig {
  readonly name: string
  readonly port: number
  /** Of all servers. */
  readonly ports: readonly number[]
  readonly directory: string
  /** Not those of its files, but fresh ones. */
  readonly otherKeys: boolean
  /** Until it is asked to open it, what comes is answered with 503. */
  readonly inboxLater: boolean
  readonly policies: { readonly backoffMs: number; readonly healthCheckMs: number }
}

/** What a server can be asked, and what it answers. */
export interface Answers {
  /** The id of the delivery. */
  readonly follow: string
  /** The id of the post. */
  readonly post: string
  readonly followRow: FollowRow | undefined
  readonly peerRow: PeerRow | undefined
  /** What the app has done for what it was sent. */
  readonly effects: readonly string[]
  readonly openInbox: void
  readonly register: void
  readonly stop: void
}

export interface Asked {
  readonly number: number
  readonly question: keyof Answers
  readonly args: readonly unknown[]
}

/** An event of a server. */
export interface Told {
  readonly event: string
  readonly [field: string]: unknown
}
