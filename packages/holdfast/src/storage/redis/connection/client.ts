// The part of iovalkey and ioredis that the driver uses. Both are optional peers: our types do not need theirs.

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

/** The client itself, or the clients of all primaries of a cluster. */
export const primariesOf = (client: RedisClient): RedisClient[] =>
  isCluster(client) ? client.nodes('master') : [client]

/** Both libraries have it and do not document it. A Cluster has none. */
interface Socket {
  readonly bytesRead: number
  destroy(): void
  /** Whether it keeps the process alive. */
  ref(): void
  unref(): void
}

export const socketOf = (client: RedisClient): Socket | undefined => (client as { stream?: Socket }).stream

/** 'host:port' for messages, or the path of a Unix socket. Undefined for a Cluster. */
export function addressOf(client: RedisClient): string | undefined {
  const { host, port, path } = ((client as { options?: object }).options ?? {}) as Record<string, unknown>
  if (typeof path === 'string') return path
  return typeof host === 'string' ? `${host}:${String(port)}` : undefined
}

/** Closes a client at once, in any state. Without `destroy`, a half-open socket would be waited for. */
export function discard(client: RedisClient): void {
  client.disconnect()
  socketOf(client)?.destroy()
}
