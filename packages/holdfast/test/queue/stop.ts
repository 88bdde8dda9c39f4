// stop(): what it waits for, what it gives back, and in which order.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AttemptAbortedError, Job } from 'holdfast'
import { bench, gate, next, sleep, type TestDriver, until } from './driver.ts'
import { faulty } from './faulty-storage.ts'
import { jobIn } from './states.ts'

export function stopTests(driver: TestDriver): void {
  describe(`${driver.name}: stop`, () => {
    test('[Q4.41] [trap 2] what is unfinished is released: queued again, attempts as before', async (t) => {
      const b = await bench(t, driver)
      const { queue } = await jobIn(b, 'processing')
      const requeued = next(queue, 'requeued')
      await queue.stop({ timeout: 20 })
      assert.deepEqual(await requeued, ['x'])
      const other = b.queue()
      const { createdAt: _, ...status } = (await other.getStatus('x'))!
      assert.deepEqual(status, { id: 'x', state: 'queued', attempts: 0, maxAttempts: 3 })
      other.execute((job) => job.attempts)
      const completed = next(other, 'completed')
      await other.start()
      assert.deepEqual(await completed, ['x', 1])
      assert.equal((await other.getStatus('x'))?.attempts, 1)
    })

    test('[Q4.41] a release after failures leaves their number as it was', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      const second = gate()
      queue.execute((job) => {
        if (job.attempts === 1) throw new Error('not yet')
        second.resolve()
        return new Promise(() => {})
      })
      await queue.start()
      await queue.enqueue('a', 1)
      await second.promise
      await queue.stop({ timeout: 0 })
      const other = newQueue()
      const status = await other.getStatus('a')
      assert.deepEqual([status?.state, status?.attempts], ['queued', 1])
      other.execute((job) => job.attempts)
      const completed = next(other, 'completed')
      await other.start()
      assert.deepEqual(await completed, ['a', 2])
    })

    test('[Q4.41] [Q4.28] a released job is back at its old place', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ concurrency: 2 })
      for (const id of ['a', 'b', 'c', 'd']) await queue.enqueue(id, 1)
      let running = 0
      queue.execute(() => {
        running++
        return new Promise(() => {})
      })
      await queue.start()
      await until(() => running === 2)
      await queue.stop({ timeout: 0 })
      const other = newQueue()
      const started: string[] = []
      other.execute((job) => started.push(job.id))
      await other.start()
      await until(() => started.length === 4)
      assert.deepEqual(started, ['a', 'b', 'c', 'd'])
    })

    test('[Q4.41] a job that was claimed while stop was called is given back unseen', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const [asked, answered] = [gate(), gate()]
      line.on('claim', async (apply, { number }) => {
        const claim = await apply()
        if (number === 1) return claim
        asked.resolve()
        await answered.promise
        return claim
      })
      const queue = newQueue({ storage: line.storage })
      let runs = 0
      queue.execute(() => ++runs)
      await queue.start()
      await queue.enqueue('a', 1)
      await asked.promise
      assert.equal((await newQueue().getStatus('a'))?.state, 'processing')
      const stopped = queue.stop()
      answered.resolve()
      await stopped
      assert.equal(runs, 0)
      const status = await newQueue().getStatus('a')
      assert.deepEqual([status?.state, status?.attempts], ['queued', 0])
    })

    test('[§3] a result that arrives in time is recorded; no other job is taken meanwhile', async (t) => {
      const b = await bench(t, driver)
      const { queue, release, seen } = await jobIn(b, 'processing')
      await queue.enqueue('behind', 'behind')
      const completed = next(queue, 'completed')
      let isStopped = false
      const stopped = queue.stop().then(() => (isStopped = true))
      await queue.enqueue('later', 'later')
      await sleep(20)
      assert.equal(isStopped, false)
      release.resolve('done')
      await stopped
      assert.deepEqual(await completed, ['x', 'done'])
      assert.deepEqual(seen, ['first'])
      assert.equal((await b.queue().getStatus('behind'))?.state, 'queued')
      assert.equal((await b.queue().getStatus('later'))?.state, 'queued')
    })

    test('[§3] an error in time is an ordinary failure', async (t) => {
      const b = await bench(t, driver)
      const { queue, release } = await jobIn(b, 'processing')
      const failing = next(queue, 'failing')
      const stopped = queue.stop()
      release.reject(new Error('in time'))
      await stopped
      assert.equal((await failing)[1].message, 'in time')
      assert.equal((await b.queue().getStatus('x'))?.attempts, 1)
    })

    for (const [what, end, expected] of [
      [
        'a result',
        (run: PromiseWithResolvers<unknown>) => run.resolve('done'),
        { said: 'completed', state: 'completed' },
      ],
      [
        'a rejection',
        (run: PromiseWithResolvers<unknown>) => run.reject(new Error('aborted')),
        { said: 'requeued', state: 'queued' },
      ],
    ] as const) {
      test(`[§3] after the timeout signals abort with STOPPING; ${what} soon after is ${expected.said}`, async (t) => {
        const { queue: newQueue } = await bench(t, driver)
        const queue = newQueue({ maxRetries: 1 })
        const [running, run] = [gate<Job<unknown>>(), gate<unknown>()]
        queue.execute((job) => {
          job.signal.addEventListener('abort', () => setTimeout(() => end(run), 5))
          running.resolve(job)
          return run.promise
        })
        const said: string[] = []
        for (const event of ['completed', 'failing', 'failed', 'requeued'] as const)
          queue.on(event, () => said.push(event))
        await queue.start()
        await queue.enqueue('a', 1)
        const { signal } = await running.promise
        const stopped = queue.stop({ timeout: 400 })
        await sleep(20)
        assert.equal(signal.aborted, false)
        await stopped
        assert.equal((signal.reason as AttemptAbortedError).code, 'STOPPING')
        assert.deepEqual(said, [expected.said])
        assert.equal((await newQueue().getStatus('a'))?.state, expected.state)
      })
    }

    test('[§3] a late outcome of a released attempt is dropped', async (t) => {
      const b = await bench(t, driver)
      const { queue, release } = await jobIn(b, 'processing')
      const said: string[] = []
      for (const event of ['completed', 'fenced', 'error'] as const) queue.on(event, () => said.push(event))
      await queue.stop({ timeout: 0 })
      const other = b.queue()
      const run = gate<unknown>()
      other.execute(() => run.promise)
      await other.start()
      await until(async () => (await other.getStatus('x'))?.state === 'processing')
      release.resolve('too late')
      await sleep(20)
      assert.equal((await other.getStatus('x'))?.state, 'processing')
      const completed = next(other, 'completed')
      run.resolve('of the other')
      assert.deepEqual(await completed, ['x', 'of the other'])
      assert.deepEqual(said, [])
    })

    test('[§3] in this order: no new job, abort, release, waits rejected, disconnect, stopped', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage })
      const order: string[] = []
      line.on('settle', async (apply) => {
        order.push('release')
        return apply()
      })
      line.on('disconnect', async (apply) => {
        order.push('disconnect')
        return apply()
      })
      queue.on('requeued', () => order.push('requeued'))
      queue.on('stopped', () => order.push('stopped'))
      const running = gate()
      queue.execute((job) => {
        job.signal.addEventListener('abort', () => order.push('abort'))
        running.resolve()
        return new Promise(() => {})
      })
      await queue.start()
      const wait = queue.enqueueAndWait('a', 1).catch((error: unknown) => {
        order.push('wait rejected')
        return error
      })
      await running.promise
      await queue.stop({ timeout: 10 })
      assert.equal(((await wait) as { code?: string }).code, 'QUEUE_STOPPED')
      assert.deepEqual(order, ['abort', 'release', 'requeued', 'wait rejected', 'disconnect', 'stopped'])
      assert.equal(line.connections, 0)
    })

    test('[§3] handlers may enqueue, and wait, while the queue drains', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [queue, other] = [newQueue(), newQueue({ name: 'other' })]
      other.execute((job) => `other ${job.payload as string}`)
      await other.start()
      const [running, go] = [gate(), gate()]
      const elsewhere = newQueue({ name: 'other' })
      queue.execute(async () => {
        running.resolve()
        await go.promise
        await queue.enqueue('child', 1)
        return elsewhere.enqueueAndWait('nested', 'one')
      })
      await queue.start()
      await queue.enqueue('parent', 1)
      await running.promise
      const completed = next(queue, 'completed')
      const stopped = queue.stop()
      go.resolve()
      await stopped
      assert.deepEqual(await completed, ['parent', 'other one'])
      assert.equal((await newQueue().getStatus('child'))?.state, 'queued')
    })

    test('[§3] pending waits of this queue reject with QUEUE_STOPPED; those of another, and the job, stay', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [queue, other] = [newQueue(), newQueue()]
      const mine = assert.rejects(queue.enqueueAndWait('a', 1, { timeout: Infinity }), { code: 'QUEUE_STOPPED' })
      await until(async () => (await other.getStatus('a')) !== null)
      const theirs = other.enqueueAndWait('a', 1)
      await queue.stop()
      await mine
      other.execute(() => 'done')
      await other.start()
      assert.equal(await theirs, 'done')
    })

    test('[§3] a second stop returns the promise of the first, whatever its timeout', async (t) => {
      const b = await bench(t, driver)
      const { queue, release } = await jobIn(b, 'processing')
      let stops = 0
      queue.on('stopped', () => void stops++)
      const [first, second] = [queue.stop(), queue.stop({ timeout: 0 })]
      assert.equal(first, second)
      await sleep(20)
      assert.equal((await b.queue().getStatus('x'))?.state, 'processing')
      release.resolve('done')
      await Promise.all([first, second])
      assert.equal(stops, 1)
      assert.equal((await b.queue().getStatus('x'))?.state, 'completed')
    })

    test('[§3] a queue that was never started can be stopped, and stopped again', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      await queue.stop()
      await queue.stop()
    })
  })
}
