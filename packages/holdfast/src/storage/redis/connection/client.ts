// The part of iovalkey and ioredis that is used here, and how a client of ours is made. Both are optional peers: their
// types are not needed to read ours.

import { HoldfastError } from '../../../errors.ts'

export type Argument = string | Buffer

/** A Redis or Cluster of iovalkey or ioredis. */
export interface RedisClient {
  readonly status: string
  callBuffer(command: string, args: Argument[]): Promise<unknown>
  pipeline(): RedisPipeline
  connect(): Promise<void>
  disconnect(reconnect?: boolean): void
  duplicate(...overrides: never[]): unknown
  on(event: string, listener: (...args: any[]) => void): unknown
  removeListener(event: string, listener: (...args: any[]) => void): unknown
}

interface RedisPipeline {
  callBuffer(command: string, args: Argument[]): unknown
  exec(): Promise<[error: Error | null, result: unknown][] | null>
}

/** What both libraries have besides, and do not document. Absent in a Cluster. */
interface Socket {
  readonly bytesRead: number
  destroy(): void
}

export const socketOf = (client: RedisClient): Socket | undefined => (client as { stream?: Socket }).stream

/** A client of one server. */
export interface NodeClient extends RedisClient {
  subscribe(...channels: string[]): Promise<unknown>
  unsubscribe(...channels: string[]): Promise<unknown>
}

export interface ClusterClient extends RedisClient {
  nodes(role: 'all' | 'master'): NodeClient[]
}

export const isCluster = (client: RedisClient): client is ClusterClient =>
  (client as { isCluster?: unknown }).isCluster === true

/**
 * How a script is told its key. In a cluster with a second one, and neither exists: while the slot is moved to another
 * node, key by key, a command whose keys are not all there is refused until all is moved (TRYAGAIN). With one key it would
 * be sent on, and run over there on the part of the data that has arrived.
 */
export const keysOf = (client: RedisClient, key: string): string[] =>
  isCluster(client) ? ['2', key, `${key}-`] : ['1', key]

/** 'host:port', for messages; a client that reaches its server otherwise has none. */
export function addressOf(client: RedisClient): string | undefined {
  const { host, port, path } = ((client as { options?: object }).options ?? {}) as Record<string, unknown>
  if (typeof path === 'string') return path
  return typeof host === 'string' ? `${host}:${String(port)}` : undefined
}

/**
 * One connection each: when it is lost, everything in flight is told so, and we make another. What the library would
 * queue, send again or wait for by itself is beyond our clock, and beyond the caller's time. Its own check of the server
 * prints to the console where INFO is forbidden; ours does not.
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
  // ioredis 6 would speak RESP3, and be refused by a user who may not HELLO.
  protocol: 2,
} as const

/** `new Redis(…)` of either library. */
export type ClientClass = new (...args: (string | object)[]) => NodeClient

export interface ServerAddress {
  readonly url?: string
  readonly host: string
  readonly port: number
}

export function newClient(Client: ClientClass, { url, host, port }: ServerAddress): NodeClient {
  // The schemes of Valkey are known to iovalkey alone.
  if (url !== undefined) return new Client(url.replace(/^valkey(s?):/i, 'redis$1:'), ownOptions)
  return new Client({ ...ownOptions, host, port })
}

/** Another connection to where this client is connected, ours to close. */
export function duplicateOf(client: RedisClient): NodeClient {
  const duplicate = client.duplicate as (overrides: object) => unknown
  return duplicate.call(client, ownOptions) as NodeClient
}

/** Another connection to any node of the cluster: what one publishes, all of them tell. */
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

/** Gone at once, whatever state it is in: a half-open socket would be waited for. */
export function discard(client: RedisClient): void {
  client.disconnect()
  socketOf(client)?.destroy()
}

/** The client library that the app has installed. */
export async function loadClient(): Promise<ClientClass> {
  for (const load of [() => import('iovalkey'), () => import('ioredis')] as (() => Promise<unknown>)[]) {
    try {
      return ((await load()) as { Redis: ClientClass }).Redis
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    }
  }
  throw new HoldfastError(
    'MISSING_DEPENDENCY',
    'RedisStorage needs a Redis client: npm install iovalkey (or ioredis), or pass one as `client`',
    { package: 'iovalkey' },
  )
}
