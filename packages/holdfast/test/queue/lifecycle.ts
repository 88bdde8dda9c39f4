// Starting, stopping, starting again; with a handler and without.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { closable } from './closable-storage.ts'
import { bench, next, sleep, type TestDriver } from './driver.ts'
import { faulty } from './faulty-storage.ts'
import { defaultType } from 'holdfast/storage'

export function lifecycleTests(driver: TestDriver): void {
  describe(`${driver.name}: life-cycle`, () => {
    test('[§3] [trap 37] ten starts at once are one', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      const queue = newQueue({ storage: line.storage })
      queue.execute(() => 1)
      let started = 0
      queue.on('started', () => void started++)
      await Promise.all(Array.from({ length: 10 }, () => queue.start()))
      await queue.start()
      // One of the worker, one of the schedules, one of the limits.
      assert.deepEqual([started, line.connections, line.count('listen')], [1, 1, 3])
      await queue.stop()
      assert.equal(line.connections, 0)
    })

    test('[§3] a stopped queue may be started again, with the same handler', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      const queue = newQueue({ storage: line.storage })
      const said: string[] = []
      for (const event of ['started', 'stopped'] as const) queue.on(event, () => said.push(event))
      queue.execute((job) => job.id)
      for (const id of ['a', 'b', 'c']) {
        await queue.start()
        assert.equal(await queue.enqueueAndWait(id, 1), id)
        await queue.stop()
        assert.equal(line.connections, 0)
      }
      assert.deepEqual(said, ['started', 'stopped', 'started', 'stopped', 'started', 'stopped'])
    })

    test('[§3] a start that is called during a stop comes after it', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      const queue = newQueue({ storage: line.storage })
      const said: string[] = []
      for (const event of ['started', 'stopped'] as const) queue.on(event, () => said.push(event))
      queue.execute((job) => job.id)
      await queue.start()
      await Promise.all([queue.stop(), queue.start()])
      assert.deepEqual(said, ['started', 'stopped', 'started'])
      assert.equal(line.connections, 1)
      assert.equal(await queue.enqueueAndWait('a', 1), 'a')
    })

    test('[§3] a stop that is called during a start comes after it', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      const queue = newQueue({ storage: line.storage })
      const said: string[] = []
      for (const event of ['started', 'stopped'] as const) queue.on(event, () => said.push(event))
      queue.execute((job) => job.id)
      await Promise.all([queue.start(), queue.stop()])
      assert.deepEqual(said, ['started', 'stopped'])
      assert.equal(line.connections, 0)
      const claims = line.count('claim')
      await newQueue().enqueue('a', 1)
      await sleep(20)
      assert.equal(line.count('claim'), claims)
    })

    test('[§3] execute after start begins to work', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      await queue.start()
      const wait = queue.enqueueAndWait('a', 1)
      await sleep(10)
      queue.execute(() => 'done')
      assert.equal(await wait, 'done')
    })

    test('[§3] a producer claims nothing, and listens for nothing but the ends that it waits for', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage, blockTimeout: 0.02 })
      await queue.start()
      await queue.enqueue('a', 1)
      await queue.getStatus('a')
      await sleep(60)
      assert.deepEqual([...new Set(line.calls.map(({ verb }) => verb))], ['connect', 'add', 'get'])
      await assert.rejects(queue.enqueueAndWait('a', 1, { timeout: 0 }))
      const topics = line.calls.filter(({ verb }) => verb === 'listen').flatMap(({ args }) => args[0])
      assert.deepEqual(topics, [{ kind: 'done', type: defaultType }])
    })

    test('[§3] two workers of one label, or one that started again, never share a lease', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const [one, other] = [newQueue({ workerId: 'pod' }), newQueue({ workerId: 'pod' })]
      assert.deepEqual([one.workerId, other.workerId], ['pod', 'pod'])
      assert.notEqual(newQueue().workerId, newQueue().workerId)
      const leases = new Set<string>()
      const labels = new Set<unknown>()
      for (const queue of [one, other]) {
        queue.execute(async (job) => {
          const [record] = await storage.get([{ type: defaultType, id: job.id }])
          leases.add(record!.worker!)
          labels.add((await queue.getStatus(job.id))?.workerId)
        })
      }
      for (const [index, queue] of [one, other, one, other].entries()) {
        await queue.start()
        const completed = next(queue, 'completed')
        await queue.enqueue(`job ${index}`, 1)
        await completed
        await queue.stop()
      }
      assert.equal(leases.size, 4)
      assert.deepEqual([...labels], ['pod'])
    })

    test('[§3] stop, start, stop at once: stopped in the end; and start once more: started', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      const queue = newQueue({ storage: line.storage })
      queue.execute((job) => job.id)
      await queue.start()
      await Promise.all([queue.stop(), queue.start(), queue.stop()])
      assert.equal(line.connections, 0)
      await assert.rejects(queue.enqueue('a', 1), { code: 'QUEUE_STOPPED' })
      await Promise.all([queue.start(), queue.stop(), queue.start()])
      assert.equal(line.connections, 1)
      assert.equal(await queue.enqueueAndWait('a', 1), 'a')
    })

    test('[§3] [trap 37] execute while the queue starts makes one worker', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      const queue = newQueue({ storage: line.storage })
      const starting = queue.start()
      queue.execute((job) => job.id)
      await starting
      assert.equal(await queue.enqueueAndWait('a', 1), 'a')
      const topics = line.calls
        .filter(({ verb }) => verb === 'listen')
        .flatMap(({ args }) => args[0] as { kind: string; type: string }[])
      const wakes = topics.filter(({ kind }) => kind === 'wake').map(({ type }) => type)
      assert.deepEqual(wakes.toSorted(), ['limits.', defaultType, `schedules.${defaultType}`])
    })

    test('[§3] execute and stop at once: nothing is left that works', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = closable(storage)
      const queue = newQueue({ storage: line.storage })
      await queue.start()
      queue.execute((job) => job.id)
      await queue.stop()
      assert.equal(line.connections, 0)
      const calls = line.count()
      await newQueue().enqueue('a', 1)
      await sleep(20)
      assert.equal(line.count(), calls)
    })
  })
}
