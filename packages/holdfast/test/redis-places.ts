// The places where the Redis driver is tested: one server, a cluster of three primaries and three replicas, one node in
// cluster mode, Valkey; each with any of the client libraries. A place is started once per test file, which calls
// `after(stopPlaces)`.

import { type Cluster, startCluster } from '../../../servers/cluster.ts'
import { findValkey } from '../../../servers/find.ts'
import { type RedisServer, startRedis } from '../../../servers/redis.ts'
import type { RedisClient } from '../src/storage/redis/connection/client.ts'
import type { RedisStorageOptions } from '../src/storage/redis/redis-options.ts'

export type ClientName = 'iovalkey' | 'ioredis' | 'ioredis5'
export type PlaceName = 'redis' | 'cluster' | 'node' | 'valkey'

/** The part of a library that the tests use. */
interface Library {
  readonly Redis: new (options: object) => RedisClient
  readonly Cluster: new (nodes: readonly object[], options: object) => RedisClient
}

const libraries: Readonly<Record<ClientName, () => Promise<unknown>>> = {
  iovalkey: () => import('iovalkey'),
  ioredis: () => import('ioredis'),
  ioredis5: () => import('ioredis5'),
}

export const clientNames = Object.keys(libraries) as readonly ClientName[]

interface Way {
  /** The options of a RedisStorage in this place. */
  readonly options: Pick<RedisStorageOptions, 'url' | 'client'>
  /** Closes the client that was made for these options, if there is one; or keeps it for the next. */
  close(): void
}

export interface Place {
  /** For one storage. Without a client's name, a storage on one server makes its own client. */
  way(client?: ClientName): Promise<Way>
  /** The server that has the data of this prefix. */
  serverOf(prefix: string): Promise<RedisServer>
  stop(): Promise<void>
}

const started = new Map<PlaceName, Promise<Place>>()

/** The first call starts it. */
export function placeOf(name: PlaceName): Promise<Place> {
  const place = started.get(name) ?? start(name)
  started.set(name, place)
  return place
}

export async function stopPlaces(): Promise<void> {
  for (const client of open) client.disconnect()
  open.clear()
  await Promise.allSettled([...started.values()].map(async (place) => (await place).stop()))
  started.clear()
}

async function start(name: PlaceName): Promise<Place> {
  if (name === 'cluster') return clusterPlace(await startCluster())
  if (name === 'node') return clusterPlace(await startCluster({ masters: 1, replicas: 0 }))
  if (name === 'redis') return serverPlace(await startRedis())
  const binary = findValkey()
  if (!binary) throw new Error('VALKEY_SERVER is not set: expected the path of a valkey-server')
  return serverPlace(await startRedis({ binary }))
}

function serverPlace(server: RedisServer): Place {
  const { url, host, port } = server
  return {
    way: async (name) => {
      if (!name) return { options: { url }, close: () => {} }
      const { Redis } = await libraryOf(name)
      const client = new Redis({ host, port, ...clientOptions })
      client.on('error', () => {})
      return given(client)
    },
    serverOf: async () => server,
    stop: () => server.stop(),
  }
}

function clusterPlace(cluster: Cluster): Place {
  // A client connects to every node and asks for the slots. Made for each case, that would be most of its cost; and a client of
  // the user serves one storage after the other.
  const unused = new Map<ClientName, RedisClient[]>()
  return {
    way: async (name = 'iovalkey') => {
      const clients = unused.get(name) ?? []
      unused.set(name, clients)
      const client = clients.pop() ?? (await clusterClient(name, cluster))
      open.add(client)
      return { options: { client }, close: () => void clients.push(client) }
    },
    serverOf: (prefix) => cluster.masterOf(`{${prefix}}`),
    stop: () => cluster.stop(),
  }
}

const clientOptions = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
}

/** A Cluster with the library's defaults, but for the options given. */
export async function clusterClient(
  name: ClientName,
  { nodes }: Pick<Cluster, 'nodes'>,
  options: { readonly natMap?: object } = {},
): Promise<RedisClient> {
  const { Cluster } = await libraryOf(name)
  const client = new Cluster(
    nodes.map(({ host, port }) => ({ host, port })),
    { lazyConnect: true, ...options },
  )
  // An 'error' event without a listener would end the process.
  client.on('error', () => {})
  return client
}

/** Clients that are not closed yet: they would keep the process alive. */
const open = new Set<RedisClient>()

function given(client: RedisClient): Way {
  open.add(client)
  const close = (): void => {
    open.delete(client)
    client.disconnect()
  }
  return { options: { client }, close }
}

async function libraryOf(name: ClientName): Promise<Library> {
  return (await libraries[name]()) as Library
}
