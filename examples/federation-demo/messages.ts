// The IPC messages between the demo and its servers.

import type { FollowRow, PeerRow } from '@holdfast/federation'

/** Configuration of a server process. */
export interface ServerConfig {
  readonly name: string
  readonly port: number
  /** Ports of all servers. */
  readonly ports: readonly number[]
  readonly directory: string
  /** Start with new keys instead of those of its file. */
  readonly otherKeys: boolean
}

/** The commands of a server, with the type of each response. */
export interface Responses {
  /** Id of the delivery. */
  readonly follow: string
  /** Ids of the deliveries of many follows of one user. */
  readonly burst: readonly string[]
  /** Id of the post. */
  readonly post: string
  readonly followRow: FollowRow | undefined
  readonly peerRow: PeerRow | undefined
  /** Effects of the messages that the app has handled. */
  readonly effects: readonly string[]
  readonly register: void
  readonly stop: void
}

export interface Request {
  readonly number: number
  readonly command: keyof Responses
  readonly args: readonly unknown[]
}

/** An event of a server. */
export interface ServerEvent {
  readonly event: string
  readonly [field: string]: unknown
}
