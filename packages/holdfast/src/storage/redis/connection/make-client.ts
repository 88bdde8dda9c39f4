// How the driver makes its own clients: from a url, or as duplicates of the user's client.

import type { ClusterClient, NodeClient, RedisClient } from './client.ts'

/**
 * A client of ours has one connection. When it is lost, all calls in flight reject, and own-link.ts makes another client.
 * What the library would queue, resend or wait for is outside of our clock and of the caller's timeout. Its own check of the
 * server is off: where INFO is forbidden, it prints to the console.
 */
const ownOptions = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
  retryStrategy: (): null => null,
  reconnectOnError: null,
  enableReadyCheck: false,
  enableAutoPipelining: false,
  connectTimeout: 2_000,
  disconnectTimeout: 100,
  commandTimeout: undefined,
  keepAlive: 5_000,
  noDelay: true,
  disableClientInfo: true,
  readOnly: false,
  // ioredis 6 would speak RESP3, and a user without the right to HELLO would be refused.
  protocol: 2,
} as const

/** `new Redis(…)` of either library. */
export type ClientClass = new (...args: (string | object)[]) => NodeClient

export interface ServerAddress {
  readonly url?: string | undefined
  readonly host: string
  readonly port: number
}

export function newClient(Client: ClientClass, { url, host, port }: ServerAddress): NodeClient {
  // Only iovalkey knows the schemes of Valkey.
  if (url !== undefined) return new Client(url.replace(/^valkey(s?):/i, 'redis$1:'), ownOptions)
  return new Client({ ...ownOptions, host, port })
}

/** Another client of the same server. The driver closes it. */
export function duplicateOf(client: RedisClient): NodeClient {
  const duplicate = client.duplicate as (overrides: object) => unknown
  return duplicate.call(client, ownOptions) as NodeClient
}

/** A client of any node of the cluster: every node publishes the messages of all. */
export function duplicateOfAny(cluster: ClusterClient, random: number): NodeClient {
  const primaries = cluster.nodes('master')
  const nodes = primaries.length > 0 ? primaries : cluster.nodes('all')
  const node = nodes[Math.floor(random * nodes.length)]
  if (!node) throw new Error('no node of the cluster is known')
  return duplicateOf(node)
}

export function duplicateOfCluster(cluster: ClusterClient): ClusterClient {
  return (cluster.duplicate as () => unknown).call(cluster) as ClusterClient
}
