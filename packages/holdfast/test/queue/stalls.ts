// Attempts that do not end in time: at the cap, by a dead worker, by a lost lease.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AttemptAbortedError, type Job, JobFailedError, type Queue, type Storage } from 'holdfast'
import { bench, gate, next, sleep, type TestDriver, until } from './driver.ts'
import { failing, faulty } from './faulty-storage.ts'
import { defaultType } from 'holdfast/storage'

export function stallTests(driver: TestDriver): void {
  describe(`${driver.name}: stalls`, () => {
    test('[Q4.37] at visibilityTimeout the signal aborts, the attempt is given up and its slot is free', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ visibilityTimeout: 300, maxRetries: 2 })
      const jobs: Job<unknown>[] = []
      queue.execute((job) => {
        jobs.push(job)
        void job.signal
        return job.id === 'a' && job.attempts === 1 ? new Promise(() => {}) : `${job.id} ${job.attempts}`
      })
      const stalled = next(queue, 'stalled')
      await queue.start()
      const waits = [queue.enqueueAndWait('a', 1), queue.enqueueAndWait('b', 1)]
      assert.deepEqual(await stalled, ['a'])
      assert.deepEqual(await Promise.all(waits), ['a 2', 'b 1'])
      const { signal } = jobs[0]!
      const reason: unknown = signal.reason
      assert.ok(signal.aborted && reason instanceof AttemptAbortedError)
      assert.deepEqual([reason.code, reason.jobId, reason.attempt], ['ATTEMPT_TIMEOUT', 'a', 1])
      // Behind the one that waited.
      assert.deepEqual(
        jobs.map(({ id, attempts }) => `${id} ${attempts}`),
        ['a 1', 'b 1', 'a 2'],
      )
      assert.equal(jobs[2]!.signal.aborted, false)
    })

    for (const [what, end] of [
      ['result', (run: PromiseWithResolvers<unknown>) => run.resolve('late')],
      ['error', (run: PromiseWithResolvers<unknown>) => run.reject(new Error('late'))],
    ] as const) {
      test(`[Q4.37] [trap 6] a late ${what} of an attempt that was given up changes nothing`, async (t) => {
        const { queue: newQueue } = await bench(t, driver)
        const queue = newQueue({ visibilityTimeout: 500 })
        const [first, second] = [gate<unknown>(), gate<unknown>()]
        queue.execute((job) => (job.attempts === 1 ? first.promise : second.promise))
        const said: string[] = []
        for (const event of ['completed', 'failing', 'failed'] as const) queue.on(event, () => said.push(event))
        const stalled = next(queue, 'stalled')
        await queue.start()
        const wait = queue.enqueueAndWait('a', 1)
        await stalled
        end(first)
        await sleep(20)
        assert.deepEqual(said, [])
        second.resolve('in time')
        assert.equal(await wait, 'in time')
        assert.equal((await queue.getStatus('a'))?.attempts, 2)
      })
    }

    test('[Q4.37] stop does not wait for an attempt that was given up', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ visibilityTimeout: 50, maxRetries: 1 })
      queue.execute(() => new Promise(() => {}))
      const failed = next(queue, 'failed')
      await queue.start()
      await queue.enqueue('a', 1)
      await failed
      const before = performance.now()
      await queue.stop({ timeout: 20_000 })
      assert.ok(performance.now() - before < 5_000)
    })

    test('[Q4.38] [trap 28] the job of a worker that died runs when its lease ends, in a worker that was idle', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue({ blockTimeout: 60 })
      await storage.connect()
      await claimAndDie(storage, 'a', 200)
      queue.execute((job) => job.attempts)
      const [stalled, completed] = [next(queue, 'stalled'), next(queue, 'completed')]
      await queue.start()
      assert.deepEqual(await stalled, ['a'])
      assert.deepEqual(await completed, ['a', 2])
      const [record] = await storage.get([{ type: defaultType, id: 'a' }], { parts: ['attempts'] })
      const [first, second] = record!.attempts!
      assert.deepEqual([first!.outcome, second!.outcome], ['stalled', 'completed'])
      assert.ok(second!.startedAt >= first!.startedAt + 200, 'before the lease ended')
      await storage.disconnect()
    })

    test('[Q4.38] [trap 28] also in a worker that starts long after', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      await storage.connect()
      await claimAndDie(storage, 'a', 50)
      await sleep(80)
      const queue = newQueue()
      queue.execute((job) => job.attempts)
      const completed = next(queue, 'completed')
      await queue.start()
      assert.deepEqual(await completed, ['a', 2])
      await storage.disconnect()
    })

    for (const how of ['by a hint', 'by the next heartbeat'] as const) {
      test(`[Q4.39] [trap 6] a live worker learns ${how} that its lease was taken back: LEASE_LOST, fenced`, async (t) => {
        const { queue: newQueue, storage } = await bench(t, driver)
        const line = faulty(storage)
        if (how === 'by the next heartbeat') line.lose(({ kind }) => kind === 'abort')
        const leaseMs = how === 'by a hint' ? 60_000 : 150
        const one = newQueue({ storage: line.storage, leaseMs, visibilityTimeout: 60_000 })
        const [running, ended] = [gate<Job<unknown>>(), gate<unknown>()]
        one.execute((job) => {
          running.resolve(job)
          return ended.promise
        })
        const said = watch(one)
        await one.start()
        await one.enqueue('a', 1)
        const { signal } = await running.promise
        assert.equal(signal.aborted, false)
        await until(async () => (await takeBack(storage)) === 1)
        await until(() => said.length > 0)
        assert.deepEqual(said, ['fenced a 1 taken_by_another_worker'])
        assert.equal((signal.reason as AttemptAbortedError).code, 'LEASE_LOST')
        assert.equal((await one.getStatus('a'))?.state, 'queued')

        const other = newQueue()
        other.execute((job) => `run ${job.attempts}`)
        const completed = next(other, 'completed')
        await other.start()
        assert.deepEqual(await completed, ['a', 'run 2'])
        ended.resolve('too late')
        await sleep(20)
        assert.equal(await one.getResult('a'), 'run 2')
        assert.deepEqual(said, ['fenced a 1 taken_by_another_worker'])
      })
    }

    test('[Q4.39] a worker whose heartbeats came too late is fenced, and its slot is free after its handler', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const taken = gate()
      line.on('extend', async (apply) => {
        await taken.promise
        return apply()
      })
      const [one, other] = [newQueue({ storage: line.storage, leaseMs: 100 }), newQueue()]
      const [ended, holding] = [gate<unknown>(), gate<unknown>()]
      one.execute((job) => (job.id === 'a' ? ended.promise : 'of one'))
      other.execute(() => holding.promise)
      const said = watch(one)
      await one.start()
      await one.enqueue('a', 1)
      await until(async () => (await one.getStatus('a'))?.state === 'processing')
      const stalled = next(other, 'stalled')
      await other.start()
      await stalled
      taken.resolve()
      await until(() => said.length > 0)
      assert.deepEqual(said, ['fenced a 1 taken_by_another_worker'])
      ended.reject(new Error('too late'))
      await one.enqueue('b', 1)
      await until(() => said.length > 1)
      holding.resolve('of the other')
      await until(async () => (await one.getResult('a')) === 'of the other')
      assert.deepEqual(said, ['fenced a 1 taken_by_another_worker', 'completed b of one'])
    })

    test('[Q4.39] no renewal until the end of the lease: the signal aborts, and the outcome still counts', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('extend', failing())
      const queue = newQueue({ storage: line.storage, leaseMs: 100 })
      queue.on('error', () => {})
      queue.execute(
        ({ signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => resolve((signal.reason as AttemptAbortedError).code))
          }),
      )
      const said = watch(queue)
      await queue.start()
      assert.equal(await queue.enqueueAndWait('a', 1), 'LEASE_LOST')
      await until(() => said.length > 0)
      assert.deepEqual(said, ['completed a LEASE_LOST'])
    })

    test('[Q4.40] a stalled attempt counts; the next comes without backoff', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ visibilityTimeout: 60, backoff: { type: 'fixed', delayMs: 600_000 } })
      queue.execute((job) => (job.attempts < 3 ? new Promise(() => {}) : job.attempts))
      const said = watch(queue)
      await queue.start()
      assert.equal(await queue.enqueueAndWait('a', 1, { maxAttempts: 3 }), 3)
      await until(() => said.length === 3)
      assert.deepEqual(said, ['stalled a', 'stalled a', 'completed a 3'])
    })

    test('[Q4.40] [Q4.28] a job that was taken back starts behind all that waited then', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      await storage.connect()
      await claimAndDie(storage, 'a', 50)
      const queue = newQueue()
      for (const id of ['b', 'c']) await queue.enqueue(id, 1)
      await sleep(80)
      const started: string[] = []
      queue.execute((job) => started.push(`${job.id} ${job.attempts}`))
      await queue.start()
      await until(() => started.length === 3)
      assert.deepEqual(started, ['b 1', 'c 1', 'a 2'])
      await storage.disconnect()
    })

    test('[Q4.40] a job that was taken back waits as queued, without an error', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      await queue.start()
      await claimAndDie(storage, 'a', 60_000)
      await until(async () => (await takeBack(storage)) === 1)
      const { createdAt: _, ...status } = (await queue.getStatus('a'))!
      assert.deepEqual(status, { id: 'a', state: 'queued', attempts: 1, maxAttempts: 3 })
    })

    test('[Q4.40] [trap 17] the last one, at the cap: stalled, then failed with STALLED', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ visibilityTimeout: 60 })
      queue.execute((job) => {
        if (job.attempts === 1) throw new Error('an ordinary failure')
        return new Promise(() => {})
      })
      const said = watch(queue)
      const failed = next(queue, 'failed')
      await queue.start()
      await assert.rejects(queue.enqueueAndWait('a', { n: 1 }, { maxAttempts: 2 }), isStalled)
      const [, error] = await failed
      assert.equal((error.lastError as { code?: string }).code, 'STALLED')
      assert.deepEqual([error.attempts, error.payload], [2, { n: 1 }])
      assert.deepEqual(said, ['failing a 1', 'stalled a', 'failed a'])
      const status = await queue.getStatus('a')
      assert.deepEqual([status?.state, status?.attempts, status?.error?.code], ['failed', 2, 'STALLED'])
    })

    test('[Q4.40] [trap 7] [trap 17] the last one, of a dead worker: the worker that finds it says so', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      await storage.connect()
      await claimAndDie(storage, 'a', 50, 1)
      const wait = assert.rejects(queue.enqueueAndWait('a', 1), isStalled)
      let runs = 0
      queue.execute(() => ++runs)
      const said = watch(queue)
      await queue.start()
      await wait
      await until(() => said.length === 2)
      assert.deepEqual(said, ['stalled a', 'failed a'])
      assert.equal(runs, 0)
      await storage.disconnect()
    })
  })
}

function isStalled(error: unknown): true {
  assert.ok(error instanceof JobFailedError)
  assert.equal(error.details.code, 'STALLED')
  return true
}

/** What becomes of its jobs, as it says. */
function watch(queue: Queue<unknown, unknown>): string[] {
  const said: string[] = []
  queue.on('completed', (id, result) => said.push(`completed ${id} ${result as string}`))
  queue.on('failing', (id, _error, attempt) => said.push(`failing ${id} ${attempt}`))
  queue.on('failed', (id) => said.push(`failed ${id}`))
  queue.on('stalled', (id) => said.push(`stalled ${id}`))
  queue.on('fenced', (id, attempt, verdict) => said.push(`fenced ${id} ${attempt} ${verdict}`))
  return said
}

async function claimAndDie(storage: Storage, id: string, leaseMs: number, maxAttempts = 3): Promise<void> {
  const retention = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
  await storage.add([{ type: defaultType, id, token: id, maxAttempts, retention, payload: Buffer.from('1') }])
  const request = { worker: 'dead/1', label: 'dead', slots: 1, types: [{ type: defaultType, leaseMs }] }
  assert.equal((await storage.claim(request)).jobs.length, 1)
}

/** As a Reaper without patience. */
async function takeBack(storage: Storage): Promise<number> {
  return (await storage.recover({ types: [defaultType], limit: 10, olderThanMs: 0 })).length
}
