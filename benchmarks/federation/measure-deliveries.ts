// Measures deliveries from this process to another. Rows and jobs exist before the worker starts. The time runs from the end of the
// warm-up to the last delivery.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Federation, sqliteStore, type Store } from '@holdfast/federation'
import { MemoryStorage, type Storage } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'
import { openPort } from './server.ts'

export interface Deliveries {
  readonly perSecond: number
  /** CPU time of the sender per delivery, in µs. */
  readonly cpuUs: number
  /** CPU time of the receiver per delivery, warm-up included, in µs. */
  readonly receiverCpuUs: number
  /** Number of failed attempts. */
  readonly retried: number
}

interface Count {
  readonly applied: number
  readonly cpu: NodeJS.CpuUsage
}

export interface Load {
  readonly deliveries: number
  readonly warmUp: number
  readonly payloadBytes: number
  /** Deliveries to the one peer at a time. */
  readonly perPeer: number
  /** Folder of the databases; undefined for memory. */
  readonly folder: string | undefined
}

export async function measureDeliveries(load: Load): Promise<Deliveries> {
  const own = await openPort()
  const receiver = fork(new URL('receiver.ts', import.meta.url), [
    String(own.port),
    ...(load.folder ? [load.folder] : []),
  ])
  try {
    const [{ origin: target }] = (await once(receiver, 'message')) as [{ origin: string }]
    const { storage, store } = sender(load)
    const policies = { delivery: { perPeer: load.perPeer } }
    const federation = await own.mount({ storage, store, policies, peerPort: Number(new URL(target).port) })
    const count = async (): Promise<Count> => {
      receiver.send('count')
      const [counted] = (await once(receiver, 'message')) as [Count]
      return counted
    }
    const before = await count()
    const result = await drain(federation, store, target, load)
    const { applied, cpu } = await count()
    const sent = load.warmUp + load.deliveries
    if (applied !== sent) throw new Error(`benchmark: ${sent} deliveries were acknowledged, but ${applied} applied.`)
    const receiverCpuUs = (cpu.user + cpu.system - before.cpu.user - before.cpu.system) / sent
    return { ...result, receiverCpuUs }
  } finally {
    await own.close()
    if (receiver.connected) receiver.disconnect()
    if (receiver.exitCode === null && receiver.signalCode === null) await once(receiver, 'exit')
  }
}

function sender({ folder }: Load): { storage: Storage; store: Store } {
  if (folder === undefined) return { storage: new MemoryStorage(), store: sqliteStore({ path: ':memory:' }) }
  const storage = new SqliteStorage({ path: join(folder, 'sender.db') })
  return { storage, store: sqliteStore({ storage }) }
}

async function drain(
  federation: Federation,
  store: Store,
  target: string,
  load: Load,
): Promise<Omit<Deliveries, 'receiverCpuUs'>> {
  const total = load.warmUp + load.deliveries
  await federation.connect()
  await federation.discoverAndRegister(target)
  for (let n = 0; n < total; n += 1) await add(federation, store, target, n, load.payloadBytes)

  const { promise, resolve, reject } = Promise.withResolvers<Omit<Deliveries, 'receiverCpuUs'>>()
  let [done, retried] = [0, 0]
  let [startedAt, cpu] = [0, process.cpuUsage()]
  federation.on('delivered', () => {
    done += 1
    if (done === load.warmUp) [startedAt, cpu] = [performance.now(), process.cpuUsage()]
    if (done < total) return
    const { user, system } = process.cpuUsage(cpu)
    const seconds = (performance.now() - startedAt) / 1_000
    resolve({ perSecond: load.deliveries / seconds, cpuUs: (user + system) / load.deliveries, retried })
  })
  // On a busy machine a request may miss its deadline. The delivery is retried, and its time counts.
  federation.on('delivery_failing', () => (retried += 1))
  federation.on('delivery_failed', ({ id, code }) => reject(new Error(`${id} failed: ${code}`)))
  federation.startWorkers()
  return promise
}

/** Adds a follow as follow() does, with a payload of the given size. */
async function add(
  { deliveryQueue, origin }: Federation,
  store: Store,
  serverUrl: string,
  n: number,
  bytes: number,
): Promise<void> {
  const [id, followerId, followingId] = [`follow-${n}`, `follower-${n}`, 'followed']
  const now = Date.now()
  const parties = { id, followerId, followingId, accepted: false }
  // The receiver compares it with the sender.
  const following = { ...parties, createdAt: new Date(now).toISOString(), followerServerUrl: origin }
  const body = { following, federationUrl: origin, method: 'FEDERATE', note: '' }
  const payload = JSON.stringify({ ...body, note: 'x'.repeat(bytes - JSON.stringify(body).length) })
  await store.follows.insert({
    ...parties,
    followerServerUrl: serverUrl,
    followingServerUrl: serverUrl,
    acknowledged: false,
    createdAt: now,
  })
  const job = { targetUrl: `${serverUrl}/inbox`, serverUrl, payload }
  await store.deliveries.insert({ id, name: 'deliver-follow', ...job, createdAt: now })
  await deliveryQueue.add('deliver-follow', { deliveryJobId: id, ...job })
}
