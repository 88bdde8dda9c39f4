// A Redis Cluster that changes while jobs are added and run: a failover of the primary, forced or planned, or a move of the
// slot to another node. No acknowledged job is lost, every job completes, and listeners are told of the gap.

import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { Queue } from 'holdfast'
import { RedisStorage, type RedisStorageOptions } from 'holdfast/redis'
import { type Cluster, startCluster } from '../../../../../servers/cluster.ts'
import type { RedisServer } from '../../../../../servers/redis.ts'
import type { Reply } from '../../../../../servers/resp.ts'
import { clusterClient, type ClientName } from '../../redis-places.ts'
import { sleep, until } from '../../queue/driver.ts'
import { defaultType } from 'holdfast/storage'

/** How long a new job may take once the cluster agrees again, in ms. */
const recoveredMs = 4_000

let cluster: Cluster
before(async () => {
  // The first primary has two replicas: after one is promoted, `durability: 'replicated'` needs the other.
  cluster = await startCluster({ masters: 3, replicas: 4 })
})
after(() => cluster.stop())

test('[trap 32] the primary is killed: nothing acknowledged is lost', async (t) => {
  const prefix = await prefixOn(cluster.nodes[0]!)
  const workload = await work(t, prefix, ['iovalkey', 'ioredis'], { durability: 'replicated' })
  await until(() => workload.completed.size > 50, 'the first completed jobs')
  const promoted = await cluster.failover(cluster.nodes[0]!, 'kill')
  assert.notEqual(promoted, cluster.nodes[0])
  await workload.continues()
  await workload.end()
  assert.ok(workload.gaps() > 0, 'the listener was told of a gap')
  await cluster.nodes[0]!.restart()
  await cluster.agreed()
})

test('[trap 32] a planned failover to a replica', async (t) => {
  const primary = await cluster.masterOf('{failover}')
  const workload = await work(t, 'failover', ['ioredis', 'ioredis5'], {})
  await until(() => workload.completed.size > 50, 'the first completed jobs')
  assert.notEqual(await cluster.failover(primary, 'planned'), primary)
  await workload.continues()
  await workload.end()
})

test('[trap 32] the slot moves to another node, key by key: no script runs on a part of the data', async (t) => {
  const workload = await work(t, 'moving', ['iovalkey', 'ioredis'], {})
  await until(() => workload.completed.size > 50, 'the first completed jobs')
  await moveSlot('{moving}', () => sleep(300))
  await workload.continues()
  await workload.end()
})

test('the slot moves during durable writes', async (t) => {
  const workload = await work(t, 'moving-durable', ['ioredis', 'ioredis5'], { durability: 'replicated' })
  await until(() => workload.completed.size > 50, 'the first completed jobs')
  await moveSlot('{moving-durable}', () => sleep(300))
  await workload.continues()
  await workload.end()
})

interface Workload {
  readonly completed: ReadonlySet<string>
  gaps(): number
  /** A new job completes within recoveredMs. */
  continues(): Promise<void>
  /** Adds no more jobs, and resolves when all acknowledged jobs are completed. */
  end(): Promise<void>
}

/** Two queues on storages of their own. One of them also adds jobs, as fast as they run. */
async function work(
  t: TestContext,
  prefix: string,
  clients: readonly [ClientName, ClientName],
  options: Pick<RedisStorageOptions, 'durability'>,
): Promise<Workload> {
  const completed = new Set<string>()
  const acknowledged: string[] = []
  const errors: Error[] = []
  const open = async (name: ClientName) => {
    const client = await clusterClient(name, cluster)
    t.after(() => client.disconnect())
    const storage = new RedisStorage({ client, prefix, ...options })
    // A claim whose answer is lost costs an attempt.
    const queue = new Queue<number, number>({
      storage,
      concurrency: 10,
      maxRetries: 10,
      leaseMs: 1_000,
      backoff: 'none',
    })
    queue.on('error', (error) => void errors.push(error))
    queue.on('completed', (id) => void completed.add(id))
    queue.execute(async (job) => {
      await sleep(5)
      if (job.payload % 5 === 0 && job.attempts === 1) throw new Error('first attempt')
      return 2 * job.payload
    })
    t.after(() => queue.stop({ timeout: 0 }))
    await queue.start()
    return { storage, queue }
  }
  const { storage, queue } = await open(clients[0])
  await open(clients[1])
  let gaps = 0
  const unlisten = await storage.listen(
    [{ kind: 'events', type: defaultType }],
    ({ gap }) => void (gaps += gap ? 1 : 0),
  )
  t.after(unlisten)

  const ending = new AbortController()
  let next = 0
  const add = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const number = next++
      // Repeated until it is acknowledged. If it was applied before, the storage answers with the job.
      for (;;) {
        try {
          await queue.enqueue(`job-${number}`, number)
          acknowledged.push(`job-${number}`)
          break
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'STORAGE_ERROR', String(error))
          if (ending.signal.aborted) return
        }
        await sleep(20)
      }
      await sleep(5)
    }
  }
  const adding = Promise.all([add(), add(), add()])
  t.after(() => ending.abort())
  return {
    completed,
    gaps: () => gaps,
    continues: async () => {
      const from = performance.now()
      assert.equal(await queue.enqueueAndWait('continues', 21, { timeout: 30_000 }), 42)
      const took = Math.round(performance.now() - from)
      t.diagnostic(`${took} ms until the new job completed, ${errors.length} errors, ${gaps} gaps`)
      assert.ok(took < recoveredMs, `${took} ms`)
    },
    end: async () => {
      ending.abort()
      await adding
      const states = async (): Promise<Map<string | undefined, string[]>> => {
        const records = await storage.get(acknowledged.map((id) => ({ type: defaultType, id })))
        return Map.groupBy(acknowledged, (_, index) => records[index]?.state)
      }
      const deadline = performance.now() + 30_000
      for (let found = await states(); found.size !== 1 || !found.has('completed'); found = await states()) {
        const unfinished = [...found].filter(([state]) => state !== 'completed')
        assert.ok(!found.has(undefined), `lost: ${found.get(undefined)?.join(', ')}`)
        assert.ok(performance.now() < deadline, JSON.stringify(unfinished))
        await sleep(20)
      }
      for (const id of acknowledged) assert.equal(await queue.getResult(id), 2 * Number(id.slice(4)), id)
      t.diagnostic(`${acknowledged.length} jobs acknowledged and completed`)
    },
  }
}

/** A prefix whose slot this node owns. */
async function prefixOn(node: RedisServer): Promise<string> {
  for (let number = 1; ; number++) {
    if ((await cluster.masterOf(`{killed-${number}}`)) === node) return `killed-${number}`
  }
}

/** As redis-cli does it. A key that exists on the target already would make MIGRATE fail. */
async function moveSlot(key: string, pause: () => Promise<void>): Promise<void> {
  const from = await cluster.masterOf(key)
  const [to] = (await cluster.masters()).filter((node) => node !== from)
  const slot = Number(await ask(from, 'CLUSTER', 'KEYSLOT', key))
  const ids = { from: String(await ask(from, 'CLUSTER', 'MYID')), to: String(await ask(to!, 'CLUSTER', 'MYID')) }
  await ask(to!, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', ids.from)
  await ask(from, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', ids.to)
  for (let moved = 0; ; moved++) {
    const keys = (await ask(from, 'CLUSTER', 'GETKEYSINSLOT', slot, 10)) as string[]
    if (keys.length === 0) break
    await ask(from, 'MIGRATE', to!.host, to!.port, '', 0, 5_000, 'KEYS', ...keys)
    if (moved === 0) await pause()
  }
  for (const node of [to!, from]) await ask(node, 'CLUSTER', 'SETSLOT', slot, 'NODE', ids.to)
  await cluster.agreed()
  assert.equal(await cluster.masterOf(key), to)
}

async function ask(server: RedisServer, ...words: (string | number)[]): Promise<Reply> {
  const client = await server.connect()
  try {
    return await client.send(...words)
  } finally {
    client.close()
  }
}
