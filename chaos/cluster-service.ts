// A Redis Cluster of three primaries with a replica each. The data of a run is on one of them, which is killed: its replica is
// promoted, and the killed node comes back as a replica. Durability is `replicated`, so that a promotion loses nothing.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Storage } from 'holdfast'
import { RedisStorage, type RedisStorageOptions } from 'holdfast/redis'
import { type Cluster, startCluster } from '../servers/cluster.ts'
import { type Proxy, startProxy } from '../servers/proxy.ts'
import type { RedisServer } from '../servers/redis.ts'
import { askRedis, disturbRedis } from './redis-sessions.ts'
import type { FaultyConnection, Service } from './service.ts'

/** In the url of a storage: the ports to begin with, and the proxies that stand for nodes. */
interface ClusterPlace {
  readonly ports: readonly number[]
  readonly natMap: Readonly<Record<string, { readonly host: string; readonly port: number }>>
}

type ClusterClient = new (nodes: readonly object[], options: object) => NonNullable<RedisStorageOptions['client']>

/** A dependency of the package's tests, not of the workspace. */
const library: string = 'iovalkey'

const host = '127.0.0.1'
const scheme = 'cluster:'
/** Keys begin with `{holdfast}`, so all of them are in one slot. */
const anyKey = '{holdfast}'

/** Of this process. They are the app's, not the storage's, and would keep the process alive. */
const clients = new Set<{ disconnect(): void }>()

const urlOf = (place: ClusterPlace): string => scheme + JSON.stringify(place)

export async function openCluster(url: string): Promise<Storage> {
  const { ports, natMap } = JSON.parse(url.slice(scheme.length)) as ClusterPlace
  const { Cluster: Client } = (await import(library)) as { readonly Cluster: ClusterClient }
  const client = new Client(
    ports.map((port) => ({ host, port })),
    { lazyConnect: true, natMap },
  )
  client.on('error', () => {})
  const storage = new RedisStorage({
    client,
    prefix: 'holdfast',
    durability: 'replicated',
  })
  clients.add(client)
  return storage
}

export async function serveCluster(slots: readonly string[]): Promise<Service> {
  const cluster = await startCluster()
  const { nodes } = cluster
  const proxies = new Map<string, readonly Proxy[]>()
  for (const slot of slots) proxies.set(slot, await Promise.all(nodes.map(({ port }) => startProxy(port))))
  let victim: RedisServer | undefined
  return {
    url: urlOf({ ports: nodes.map(({ port }) => port), natMap: {} }),
    urlOf: (slot) => urlOf(placeOf(nodes, proxies.get(slot)!)),
    proxyOf: (slot) => together(proxies.get(slot)!),
    get running() {
      return nodes.every((node) => node.running)
    },
    async kill() {
      victim = await cluster.masterOf(anyKey)
      victim.kill('SIGKILL')
      await victim.exited
    },
    async restart() {
      await promoted(cluster, victim)
      for (const node of nodes) if (!node.running) await node.restart()
      await cluster.agreed()
    },
    async freeze() {
      victim = await cluster.masterOf(anyKey)
      victim.kill('SIGSTOP')
    },
    async thaw() {
      victim?.kill('SIGCONT')
      await cluster.agreed()
    },
    disturb: async (drawn) => disturbRedis(await cluster.masterOf(anyKey), drawn),
    async stop(directory) {
      for (const client of clients) client.disconnect()
      clients.clear()
      for (const group of proxies.values()) for (const proxy of group) await proxy.stop()
      mkdirSync(directory, { recursive: true })
      for (const node of nodes) writeFileSync(join(directory, `${node.port}.log`), node.log)
      await cluster.stop()
    },
  }
}

/** Restarted before the promotion, the node would be a primary without data. */
async function promoted(cluster: Cluster, victim: RedisServer | undefined): Promise<void> {
  const until = performance.now() + 30_000
  if (!victim) return
  while (performance.now() < until) {
    const master: RedisServer = await cluster.masterOf(anyKey).catch(() => victim)
    if (master !== victim && (await isMaster(master))) return
    await new Promise((resolve) => void setTimeout(resolve, 50))
  }
}

const isMaster = async (node: RedisServer): Promise<boolean> =>
  String(await askRedis(node, 'INFO', 'replication').catch(() => '')).includes('role:master')

function placeOf(nodes: readonly RedisServer[], proxies: readonly Proxy[]): ClusterPlace {
  const natMap = Object.fromEntries(
    nodes.map(({ port }, index) => [`${host}:${port}`, { host, port: proxies[index]!.port }]),
  )
  return { ports: proxies.map(({ port }) => port), natMap }
}

/** The proxies of one process, one for each node: a fault is a fault of all of them. */
function together(proxies: readonly Proxy[]): FaultyConnection {
  const each = (fault: (proxy: Proxy) => void) => () => proxies.forEach(fault)
  return {
    cut: each((proxy) => proxy.cut()),
    halfClose: each((proxy) => proxy.halfClose()),
    refuse: async (on) => void (await Promise.all(proxies.map((proxy) => proxy.refuse(on)))),
    swallowReplies: (on) => each((proxy) => proxy.swallowReplies(on))(),
    delay: (ms) => each((proxy) => proxy.delay(ms))(),
    halfOpen: (on) => each((proxy) => proxy.halfOpen(on))(),
  }
}
