// The Queue and its server with a proxy between them: a connection that is slow, stops answering, is cut, or loses replies. On
// drivers that have a server.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { type AttemptAbortedError, JobFailedError, Queue, type QueueConfig, type Storage } from 'holdfast'
import { type Proxy, startProxy } from '../../../../servers/proxy.ts'
import { gate, next, sleep, until } from './driver.ts'
import { defaultType } from 'holdfast/storage'

export interface ServerDriver {
  readonly name: string
  /** Bytes on the wire for one byte of a payload. */
  readonly bytesPerByte: number
  /** Those who listen may go by another port. */
  readonly listensElsewhere: boolean
  port(): Promise<number>
  storage(prefix: string, port: number, listenPort?: number): Storage
}

let prefixes = 0

interface Bench {
  /** Straight to the server. */
  readonly storage: Storage
  proxy(): Promise<Proxy>
  /** Another way to the same jobs. */
  by(port: number, listenPort?: number): Storage
  queue(storage: Storage, config?: Partial<QueueConfig<string, string>>): Queue<string, string>
}

async function bench(t: TestContext, driver: ServerDriver): Promise<Bench> {
  const prefix = `faults-${++prefixes}`
  const port = await driver.port()
  const storage = driver.storage(prefix, port)
  // The tables are created here, not through the faulty connection.
  await storage.connect()
  const queues: Queue<string, string>[] = []
  const proxies: Proxy[] = []
  t.after(async () => {
    await Promise.all(queues.map((queue) => queue.stop({ timeout: 0 })))
    await storage.disconnect()
    for (const proxy of proxies) await proxy.stop()
  })
  return {
    storage,
    async proxy() {
      const proxy = await startProxy(port)
      proxies.push(proxy)
      return proxy
    },
    by: (given, listenPort) => driver.storage(prefix, given, listenPort),
    queue(given, config) {
      const queue = new Queue<string, string>({ storage: given, backoff: 'none', ...config })
      queue.on('error', () => {})
      queues.push(queue)
      return queue
    },
  }
}

const timeout = 60_000

export function connectionFaultTests(driver: ServerDriver): void {
  describe(`${driver.name}: the connection to the server`, { concurrency: true }, () => {
    test('[trap 5] 300 waits over a connection with 2 to 32 ms of delay for a worker that fails at once: no rejection goes unhandled', async (t) => {
      const { storage, proxy, by, queue } = await bench(t, driver)
      const unhandled: unknown[] = []
      const listener = (reason: unknown): void => void unhandled.push(reason)
      process.on('unhandledRejection', listener)
      t.after(() => process.off('unhandledRejection', listener))
      const worker = queue(storage, { concurrency: 50 })
      worker.execute(() => {
        throw new Error('at once')
      })
      await worker.start()
      const connection = await proxy()
      let turn = 0
      const changes = setInterval(() => connection.delay(1 + (turn++ % 16)), 5)
      t.after(() => clearInterval(changes))
      const producer = queue(by(connection.port), { maxRetries: 1 })
      const waits = Array.from({ length: 300 }, async (_, n) => {
        await sleep(n % 7)
        return producer.enqueueAndWait(`j${n}`, '', { timeout })
      })
      for (const wait of await Promise.allSettled(waits)) {
        assert.ok(wait.status === 'rejected' && wait.reason instanceof JobFailedError)
      }
      await sleep(50)
      assert.deepEqual(unhandled, [])
    })

    for (const [what, end] of [
      ['stops answering', async (connection: Proxy) => connection.halfOpen(true)],
      [
        'is cut, and cannot be opened again',
        async (connection: Proxy) => {
          await connection.refuse(true)
          connection.cut()
        },
      ],
    ] as const) {
      test(`[trap 23] a connection that ${what} delays no stop: the signal aborts, and another worker runs the job`, async (t) => {
        const { storage, proxy, by, queue } = await bench(t, driver)
        const connection = await proxy()
        const worker = queue(by(connection.port), { leaseMs: 1_500 })
        const began = gate<AbortSignal>()
        worker.execute(({ signal }) => {
          began.resolve(signal)
          return new Promise(() => {})
        })
        await worker.start()
        const producer = queue(storage)
        const result = producer.enqueueAndWait('a', '', { timeout })
        const signal = await began.promise
        const told = new Promise((resolve) => signal.addEventListener('abort', resolve))
        const accepted = next(worker, 'enqueued')
        const waits = assert.rejects(worker.enqueueAndWait('later', '', { delayMs: 600_000, timeout: Infinity }), {
          code: 'QUEUE_STOPPED',
        })
        // From here on it waits: its add is answered.
        await accepted
        await end(connection)
        await worker.stop({ timeout: 100 })
        await told
        // Of the two, whichever came first: that it stops, or that its lease could not be kept.
        assert.match((signal.reason as AttemptAbortedError).code, /^(STOPPING|LEASE_LOST)$/)
        await waits
        const other = queue(storage)
        other.execute(({ attempts }) => `attempt ${attempts}`)
        await other.start()
        assert.equal(await result, 'attempt 2')
      })
    }

    test('[trap 29] all that a subscriber is told is swallowed: who waits and who works find it by looking', async (t) => {
      const { storage, proxy, by, queue } = await bench(t, driver)
      const hints = await proxy()
      // Calls go straight to the server, and what listens, which connects later, by way of the other.
      const connection = await proxy()
      const deaf = by(connection.port, hints.port)
      await deaf.connect()
      t.after(() => deaf.disconnect())
      if (!driver.listensElsewhere) connection.retarget(hints.port)
      const waiter = queue(deaf)
      const worker = queue(deaf, { blockTimeout: 0.5, name: 'deaf' })
      worker.execute(({ id }) => id)
      await Promise.all([waiter.start(), worker.start()])
      const done = waiter.enqueueAndWait('done', '', { timeout })
      const gone = assert.rejects(waiter.enqueueAndWait('gone', '', { timeout, delayMs: 600_000 }), {
        code: 'JOB_CANCELLED',
      })
      const here = queue(storage)
      for (const id of ['done', 'gone']) await until(async () => Boolean(await here.getStatus(id)))
      hints.swallowReplies(true)
      here.execute(({ id }) => id)
      await here.start()
      await here.cancel('gone')
      const began = next(worker, 'completed')
      await queue(storage, { name: 'deaf' }).enqueue('started', '')
      assert.deepEqual(await began, ['started', 'started'])
      assert.equal(await done, 'done')
      await gone
      assert.ok(hints.counts.dropped > 0, 'nothing was swallowed')
      // So that the end of the test does not wait for it.
      hints.swallowReplies(false)
      hints.cut()
    })

    test('[trap 49] a connection that is cut after the server applied an add: queued, and one run', async (t) => {
      const { storage, proxy, by, queue } = await bench(t, driver)
      const connection = await proxy()
      const producer = queue(by(connection.port))
      // What a first call needs besides is there.
      await producer.enqueue('first', '')
      connection.swallowReplies(true)
      const answer = producer.enqueue('a', 'payload')
      await until(async () => (await storage.get([{ type: defaultType, id: 'a' }]))[0] !== undefined, 'it is applied')
      connection.swallowReplies(false)
      connection.cut()
      assert.deepEqual(await answer, { status: 'queued' })
      const worker = queue(storage)
      const runs: string[] = []
      worker.execute(({ id, payload }) => {
        runs.push(id)
        return payload
      })
      await worker.start()
      assert.equal(await worker.enqueueAndWait('a', '', { timeout }), 'payload')
      await worker.enqueueAndWait('after it', '', { timeout })
      assert.deepEqual(runs, ['first', 'a', 'after it'])
    })

    test('[trap 49] a connection that is cut after the server applied an outcome: completed, and one run', async (t) => {
      const { storage, proxy, by, queue } = await bench(t, driver)
      const connection = await proxy()
      const worker = queue(by(connection.port))
      const [began, finish] = [gate(), gate()]
      let runs = 0
      worker.execute(async () => {
        began.resolve()
        await finish.promise
        return `run ${++runs}`
      })
      await worker.start()
      const producer = queue(storage)
      const result = producer.enqueueAndWait('a', '', { timeout })
      await began.promise
      const told = next(worker, 'completed')
      connection.swallowReplies(true)
      finish.resolve()
      assert.equal(await result, 'run 1')
      connection.swallowReplies(false)
      connection.cut()
      assert.deepEqual(await told, ['a', 'run 1'])
      assert.equal(await producer.enqueueAndWait('after it', '', { timeout }), 'run 2')
    })

    test('[trap 39] on the wire a payload crosses once in, and once out for each attempt; a result once in and once out', async (t) => {
      const { proxy, by, queue } = await bench(t, driver)
      const [forProducer, forWorker] = [await proxy(), await proxy()]
      const size = 100_000
      const worker = queue(by(forWorker.port), { maxRetries: 3 })
      worker.execute(({ attempts, payload }) => {
        if (attempts < 3) throw new Error('once more')
        return 'r'.repeat(payload.length)
      })
      await worker.start()
      const producer = queue(by(forProducer.port))
      // What is sent once is sent by now: scripts, statements.
      await producer.enqueueAndWait('first', '', { timeout })
      const before = [forProducer, forWorker].map(({ counts }) => counts)
      assert.equal((await producer.enqueueAndWait('a', 'p'.repeat(size), { timeout })).length, size)
      const crossed = [forProducer, forWorker].flatMap(({ counts }, n) => [
        (counts.toServer - before[n]!.toServer) / size / driver.bytesPerByte,
        (counts.toClient - before[n]!.toClient) / size / driver.bytesPerByte,
      ])
      t.diagnostic(`crossed ${crossed.join(', ')}`)
      assert.deepEqual(
        crossed.map((times) => Math.floor(times)),
        [1, 1, 1, 3],
      )
    })
  })
}
