// A real Redis Cluster on free ports of 127.0.0.1, formed by CLUSTER commands, without redis-cli. It is ready when
// all nodes agree on the owners of the slots and every replica is linked to its master.

import { setTimeout as sleep } from 'node:timers/promises'
import { type ClusterNode, type ClusterView, readClusterView, nodeAt, ownsSlots } from './cluster-view.ts'
import { freePort } from './port.ts'
import { PortTaken } from './process.ts'
import { type RedisServer, startRedis } from './redis.ts'
import type { Reply } from './resp.ts'

export interface ClusterOptions {
  /** Number of masters. With 1 and no replicas, one node in cluster mode owns all slots. @default 3 */
  readonly masters?: number
  /** Number of replicas in all, assigned to the masters in turn. @default 3 with three masters, else 0 */
  readonly replicas?: number
  /** Ms without an answer after which a node counts as failed. @default 1500 */
  readonly nodeTimeoutMs?: number
  readonly binary?: string
  /** More arguments for every node. */
  readonly args?: readonly string[]
}

export interface Cluster {
  /** The initial masters first, then the replicas. A killed node stays in the list. */
  readonly nodes: readonly RedisServer[]
  /** The current owners of slots. */
  masters(): Promise<RedisServer[]>
  /** The current owner of the slot of this key. */
  masterOf(key: string): Promise<RedisServer>
  replicasOf(master: RedisServer): Promise<RedisServer[]>
  /**
   * Makes a replica the master: `planned` hands over without loss, `kill` ends the master by SIGKILL and waits for the
   * others to elect. Resolves with the new master, once all running nodes agree.
   *
   * The killed node may then be restarted as a replica. (Restarted before the election it would be an empty master.)
   */
  failover(master: RedisServer, manner: 'planned' | 'kill'): Promise<RedisServer>
  /** Waits until all running nodes agree that running nodes serve all slots and all replicas are linked. */
  agreed(): Promise<void>
  stop(): Promise<void>
}

const slotCount = 16_384
const portTries = 5
const agreeLimitMs = 30_000
const pollMs = 50
/** Somewhat longer than a replica tries. */
const failoverLimitMs = 6_000

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { masters = 3, replicas = masters === 3 ? 3 : 0 } = options
  const starts = await Promise.allSettled(Array.from({ length: masters + replicas }, () => startNode(options)))
  const nodes = starts.filter((start) => start.status === 'fulfilled').map((start) => start.value)
  const stop = async (): Promise<void> => void (await Promise.all(nodes.map((node) => node.stop())))
  try {
    for (const start of starts) if (start.status === 'rejected') throw start.reason
    await form(nodes, masters)
  } catch (error) {
    await stop()
    throw error
  }
  return asCluster(nodes, stop)
}

function asCluster(nodes: readonly RedisServer[], stop: () => Promise<void>): Cluster {
  const serversOf = (found: readonly ClusterNode[]): RedisServer[] =>
    nodes.filter((server) => found.some((node) => node.port === server.port))
  const replicasOf = async (master: RedisServer): Promise<RedisServer[]> => {
    const view = await currentView(nodes)
    const id = nodeAt(view, master.port)?.id
    return serversOf(view.nodes.filter((node) => node.masterId === id))
  }
  const ownerOf = async (slot: number): Promise<RedisServer> => {
    const view = await currentView(nodes)
    return serversOf(view.nodes.filter((node) => node.slots.some(([from, to]) => from <= slot && slot <= to)))[0]!
  }
  const agreed = (): Promise<void> => untilAgreed(nodes)
  return {
    nodes,
    masters: async () => serversOf((await currentView(nodes)).nodes.filter(ownsSlots)),
    masterOf: async (key) => ownerOf(Number(await ask(running(nodes)[0]!, 'CLUSTER', 'KEYSLOT', key))),
    replicasOf,
    agreed,
    async failover(master, manner) {
      const slot = nodeAt(await currentView(nodes), master.port)?.slots[0]?.[0]
      const successor = (await replicasOf(master)).find((replica) => replica.running)
      if (slot === undefined) throw new Error(`failover: port ${master.port} owns no slots`)
      if (!successor) throw new Error(`failover: the master on port ${master.port} has no running replica`)
      if (manner === 'planned') await takeOver(successor)
      else {
        master.kill('SIGKILL')
        await master.exited
      }
      await untilAgreed(nodes, (view) => !nodeAt(view, master.port)?.slots.length)
      return ownerOf(slot)
    },
    stop,
  }
}

/**
 * Makes a replica the master, without loss. A replica gives up after 5 s, which can be too short on a busy machine: then it is
 * asked again.
 */
export async function takeOver(replica: RedisServer): Promise<void> {
  const limit = Date.now() + agreeLimitMs
  let askAt = 0
  while (!String(await ask(replica, 'INFO', 'replication')).includes('role:master')) {
    if (Date.now() > limit) throw new Error(`failover: port ${replica.port} is no master after ${agreeLimitMs} ms`)
    if (Date.now() >= askAt) {
      // Refused while its link to the master is down, as just after it was stopped: then it is asked again soon.
      const isAccepted = await ask(replica, 'CLUSTER', 'FAILOVER').then(
        () => true,
        () => false,
      )
      askAt = Date.now() + (isAccepted ? failoverLimitMs : pollMs)
    }
    await sleep(pollMs)
  }
}

async function startNode({ nodeTimeoutMs = 1500, binary, args = [] }: ClusterOptions): Promise<RedisServer> {
  for (let left = portTries; ; left--) {
    const settings = {
      'cluster-enabled': 'yes',
      // The cluster bus. Its default is the port + 10,000, which may be in use.
      'cluster-port': String(await freePort()),
      // A single node learns its address from no other node, and would redirect clients to an empty one.
      'cluster-announce-ip': '127.0.0.1',
      'cluster-node-timeout': String(nodeTimeoutMs),
      // A replica may always be elected and stays with its assigned master.
      'cluster-replica-validity-factor': '0',
      'cluster-allow-replica-migration': 'no',
      // Without the 5 s wait for further replicas.
      'repl-diskless-sync-delay': '0',
      // Without the 10 s wait for replicas to catch up at shutdown.
      'shutdown-timeout': '0',
    }
    const ours = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
    try {
      return await startRedis({ binary, args: [...ours, ...args] })
    } catch (error) {
      if (!(error instanceof PortTaken) || left === 1) throw error
    }
  }
}

async function form(nodes: readonly RedisServer[], masterCount: number): Promise<void> {
  const masters = nodes.slice(0, masterCount)
  const firstSlot = (index: number): number => Math.round((slotCount / masterCount) * index)
  await Promise.all(nodes.map((node, index) => ask(node, 'CLUSTER', 'SET-CONFIG-EPOCH', index + 1)))
  await Promise.all(
    masters.map((node, index) => ask(node, 'CLUSTER', 'ADDSLOTSRANGE', firstSlot(index), firstSlot(index + 1) - 1)),
  )
  await introduce(nodes)
  const ids = await Promise.all(masters.map((node) => ask(node, 'CLUSTER', 'MYID')))
  const replicas = nodes.slice(masterCount)
  await Promise.all(replicas.map((node, index) => ask(node, 'CLUSTER', 'REPLICATE', String(ids[index % masterCount]))))
  await untilAgreed(nodes)
}

/** The first node meets all others, which learn of each other from it. */
async function introduce(nodes: readonly RedisServer[]): Promise<void> {
  const [first, ...others] = nodes
  for (const other of others) {
    const client = await other.connect()
    const [, busPort] = (await client.send('CONFIG', 'GET', 'cluster-port')) as [string, string]
    client.close()
    await ask(first!, 'CLUSTER', 'MEET', other.host, other.port, busPort)
  }
  await untilAll(nodes, (view) => {
    const unknown = nodes.filter(({ port }) => nodeAt(view, port)?.flags.includes('handshake') ?? true)
    return unknown.length > 0 && `does not know ${unknown.map(({ port }) => port).join(', ')}`
  })
}

/** @param also a further condition on every view */
async function untilAgreed(
  all: readonly RedisServer[],
  also: (view: ClusterView) => boolean = () => true,
): Promise<void> {
  await untilAll(all, (view, views) => {
    const ports = new Set(running(all).map((node) => node.port))
    const owners = view.nodes.filter(ownsSlots)
    const hasPart = (node: ClusterNode): boolean => owners.some(({ id }) => id === node.id || id === node.masterId)
    const missing = [...ports].filter((port) => !isHealthy(nodeAt(view, port)))
    const idle = view.nodes.filter((node) => ports.has(node.port) && !hasPart(node))
    if (view.state !== 'ok') return `is in state ${view.state}`
    if (view.cutOff) return 'is not linked to its master'
    if (missing.length > 0) return `does not see ${missing.join(', ')} as healthy`
    if (idle.length > 0) return `sees ${idle.map((node) => node.port).join(', ')} with neither slots nor a master`
    if (ownersIn(view) !== ownersIn(views[0]!)) return 'sees other owners of slots than the first node'
    if (owners.some((node) => !ports.has(node.port))) return 'sees slots of a node that is not running'
    return !also(view) && 'has not seen the change'
  })
}

const isHealthy = (node: ClusterNode | undefined): boolean =>
  node !== undefined && !node.flags.some((flag) => ['fail', 'fail?', 'handshake', 'noaddr'].includes(flag))

const ownersIn = (view: ClusterView): string =>
  view.nodes
    .filter(ownsSlots)
    .flatMap((node) => node.slots.map(([from, to]) => `${from}-${to}@${node.port}`))
    .toSorted()
    .join(' ')

/** Reads the view of every running node until none of them reports a problem. */
async function untilAll(
  all: readonly RedisServer[],
  problemOf: (view: ClusterView, views: readonly ClusterView[]) => string | false,
): Promise<void> {
  const limit = Date.now() + agreeLimitMs
  for (;;) {
    const nodes = running(all)
    const results = await Promise.allSettled(nodes.map(readClusterView))
    const views = results.flatMap((view) => (view.status === 'fulfilled' ? [view.value] : []))
    const problems = results.flatMap((view, index) => {
      const text = view.status === 'fulfilled' ? problemOf(view.value, views) : 'does not answer'
      return text === false ? [] : [`${nodes[index]!.port} ${text}`]
    })
    if (problems.length === 0) return
    if (Date.now() > limit) throw new Error(`cluster: no agreement within ${agreeLimitMs} ms: ${problems.join('; ')}`)
    await sleep(pollMs)
  }
}

const running = (nodes: readonly RedisServer[]): RedisServer[] => nodes.filter((node) => node.running)

async function currentView(nodes: readonly RedisServer[]): Promise<ClusterView> {
  const [first] = running(nodes)
  if (!first) throw new Error('cluster: no node is running')
  return readClusterView(first)
}

async function ask(server: RedisServer, ...words: readonly (string | number)[]): Promise<Reply> {
  const client = await server.connect()
  try {
    return await client.send(...words)
  } finally {
    client.close()
  }
}
