// The storage's queue over several processes, some of them killed or stopped; on drivers that processes can share.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { StorageMessageQueue, type StorageMessageQueueOptions } from 'holdfast/tasks'
import { listOf } from '../../../conformance/src/message-queue/queue-case.ts'
import { gate, until } from '../queue/driver.ts'
import { type Child, startChild } from '../processes/child.ts'
import type { ProcessDriver } from '../processes/drivers.ts'

const leaseMs = 1_000
const file = new URL('process.ts', import.meta.url)

async function bench(t: TestContext, driver: ProcessDriver, options?: StorageMessageQueueOptions) {
  const place = await driver.open()
  const queue = new StorageMessageQueue(place.storage(), { leaseMs, ...options })
  const stop = new AbortController()
  const began: unknown[] = []
  t.after(async () => {
    stop.abort()
    await queue.close()
    await place.close()
  })
  return {
    place,
    queue,
    began,
    child: async (scene: string, ...args: unknown[]): Promise<Child> => {
      const child = await startChild(file, t, place, scene, ...args)
      if (scene !== 'flood') await child.hears((line) => line === 'ready', 'the child is ready')
      return child
    },
    listen: () =>
      void queue.listen(
        (message) => {
          began.push(message)
        },
        { signal: stop.signal },
      ),
  }
}

export function processTests(driver: ProcessDriver): void {
  const on = `on ${driver.name}`

  test(`[W7] a handler that runs for three leases keeps its message ${on}: two listeners, one run`, async (t) => {
    const { queue, place } = await bench(t, driver)
    const other = new StorageMessageQueue(place.storage(), { leaseMs })
    const stop = new AbortController()
    let [runs, done] = [0, 0]
    const handler = async (): Promise<void> => {
      runs++
      await new Promise((resolve) => setTimeout(resolve, 3 * leaseMs))
      done++
    }
    const ended = [queue, other].map((one) => one.listen(handler, { signal: stop.signal }))
    await queue.enqueue('long')
    await until(() => done > 0)
    stop.abort()
    await Promise.all(ended)
    await other.close()
    assert.equal(runs, 1)
    assert.deepEqual(await queue.getDepth(), { queued: 0, ready: 0, delayed: 0 })
  })

  test(`[W15] retries are spaced by the policy ${on}, and never early`, async (t) => {
    const gaps = [60, 120]
    const { queue } = await bench(t, driver, { retryPolicy: ({ attempt }) => gaps[attempt - 1] ?? null })
    const at: number[] = []
    const stop = new AbortController()
    const ended = queue.listen(
      () => {
        at.push(performance.now())
        throw new Error('always')
      },
      { signal: stop.signal },
    )
    await queue.enqueue('bad')
    await until(async () => (await listOf(queue.failed())).length === 1)
    stop.abort()
    await ended
    assert.equal(at.length, 3)
    for (const [index, gap] of gaps.entries()) assert.ok(at[index + 1]! - at[index]! >= gap - 1, String(at))
  })

  // Processes cannot share a memory storage.
  if (driver.name === 'memory') return

  test(`[W5] the message of a killed worker is run by another ${on}`, async (t) => {
    const { queue, began, child, listen } = await bench(t, driver)
    const worker = await child('listen', { leaseMs })
    await queue.enqueue('hang')
    await worker.hears((line) => line.began === 'hang', 'it hangs')
    listen()
    worker.signal('SIGKILL')
    await until(() => began.length === 1, 'another has it')
    assert.deepEqual(began, ['hang'])
    await until(async () => (await queue.getDepth()).queued === 0)
  })

  test(`[W6] a worker that was suspended past its lease changes nothing ${on}`, async (t) => {
    const { queue, child, place } = await bench(t, driver)
    const late = await child('late', { leaseMs, concurrency: 1 })
    await queue.enqueue('once')
    await late.hears((line) => line.began === 'once', 'it began')
    late.signal('SIGSTOP')
    const finish = gate()
    const attempts: number[] = []
    const other = new StorageMessageQueue(place.storage(), { leaseMs })
    const stop = new AbortController()
    const ended = other.listen(
      (_message, delivery) => {
        attempts.push(delivery!.attempt)
        return finish.promise
      },
      { signal: stop.signal },
    )
    await until(() => attempts.length === 1, 'another has it')
    late.signal('SIGCONT')
    // The late one completes while the other still runs: it must not take the message out.
    late.send('go')
    await late.hears((line) => line.ended === 'once', 'the late handler ended')
    late.send('stop')
    await late.exited
    finish.resolve()
    stop.abort()
    await ended
    await other.close()
    assert.deepEqual(attempts, [2], 'one run more, no retry of it')
    assert.deepEqual(await queue.getDepth(), { queued: 0, ready: 0, delayed: 0 })
    assert.deepEqual(await listOf(queue.failed()), [])
  })

  test(`[W8] two processes, 5 keys of 20 messages, every third run throws ${on}: per key in order, no two at once`, async (t) => {
    const { queue, child } = await bench(t, driver)
    for (let number = 0; number < 20; number++) {
      for (const key of ['a', 'b', 'c', 'd', 'e']) await queue.enqueue({ key, number }, { orderingKey: key })
    }
    const workers = await Promise.all([1, 2].map(() => child('listen', { fails: 3, retryMs: 0, concurrency: 5 })))
    type Line = { began?: { key: string; number: number }; done?: { key: string; number: number } }
    const lines = (): Line[] => workers.flatMap(({ said }) => said as Line[])
    await until(() => lines().filter(({ done }) => done).length >= 100, 'all are done', 60_000)
    for (const worker of workers) {
      for (const key of ['a', 'b', 'c', 'd', 'e']) {
        const numbers = (worker.said as Line[]).flatMap(({ done }) => (done?.key === key ? [done.number] : []))
        assert.deepEqual(
          numbers,
          numbers.toSorted((one, other) => one - other),
        )
      }
    }
    const done = lines().flatMap(({ done: message }) => (message ? [`${message.key}${message.number}`] : []))
    assert.equal(new Set(done).size, 100)
    assert.equal(done.length, 100)
  })

  test(`[W9] a dead worker’s ordering key is freed ${on}: its head runs, then the messages behind it, in order`, async (t) => {
    const { queue, began, child, listen } = await bench(t, driver)
    const worker = await child('listen', { leaseMs })
    await queue.enqueue('hang', { orderingKey: 'k' })
    for (const number of [1, 2, 3]) await queue.enqueue(number, { orderingKey: 'k' })
    await worker.hears((line) => line.began === 'hang', 'it hangs')
    listen()
    worker.signal('SIGKILL')
    await until(() => began.length === 4, 'all run')
    assert.deepEqual(began, ['hang', 1, 2, 3])
  })

  test(`[W15] a message that kills its process ends in failed ${on}`, async (t) => {
    const { queue, child } = await bench(t, driver, { retryPolicy: ({ attempt }) => (attempt < 2 ? 0 : null) })
    await queue.enqueue('die')
    for (let run = 0; run < 2; run++) {
      const worker = await child('listen', { leaseMs: 300 })
      await worker.exited
      assert.deepEqual(worker.said.at(-1), { began: 'die', attempt: run + 1 })
    }
    const stop = new AbortController()
    const ended = queue.listen(() => assert.fail('it must not run again'), { signal: stop.signal })
    await until(async () => (await listOf(queue.failed())).length === 1, 'it failed')
    stop.abort()
    await ended
    const [failed] = await listOf(queue.failed())
    assert.deepEqual([failed!.message, failed!.error.code], ['die', 'stalled'])
  })

  test(`[S2] of 50 concurrent enqueues from 4 processes one is stored ${on}`, async (t) => {
    const { queue, child } = await bench(t, driver)
    const racers = await Promise.all([13, 13, 12, 12].map((count) => child('race', String(count))))
    for (const racer of racers) racer.send()
    const stored = await Promise.all(racers.map((racer) => racer.hears((line) => typeof line === 'number', 'it raced')))
    assert.equal(
      stored.reduce((sum, count) => sum + (count as number), 0),
      1,
    )
    assert.deepEqual(await queue.getDepth(), { queued: 1, ready: 1, delayed: 0 })
  })

  test(`[W11] a process killed while it enqueues batches leaves each batch complete or absent ${on}`, async (t) => {
    const { queue, child } = await bench(t, driver)
    const flood = await child('flood')
    await flood.hears((line) => line >= 5, 'some batches are in')
    flood.signal('SIGKILL')
    await flood.exited
    const acknowledged = flood.said.length
    const counts = new Map<string, number>()
    const stop = new AbortController()
    const ended = queue.listen(
      ({ key }: { key: string }) => {
        counts.set(key, (counts.get(key) ?? 0) + 1)
      },
      { signal: stop.signal },
    )
    // Checked while it listens: a server may commit the last call after the process that made it is gone.
    const isWhole = (): boolean => counts.size >= acknowledged && [...counts.values()].every((count) => count === 20)
    await until(async () => (await queue.getDepth()).queued === 0 && isWhole(), 'each batch is handled, and whole')
    stop.abort()
    await ended
  })

  test(`[W12] a delayed message of another process arrives when it is due ${on}, without a poll`, async (t) => {
    const { queue, child } = await bench(t, driver, { pollInterval: 'PT10M', leaseMs: 600_000 })
    const sender = await child('send')
    const stop = new AbortController()
    let arrivedAt = 0
    const ended = queue.listen(
      () => {
        arrivedAt = performance.now()
      },
      { signal: stop.signal },
    )
    await queue.getDepth()
    const sentAt = performance.now()
    sender.send(JSON.stringify(['delayed', { delay: 'PT1S' }]))
    sender.send(JSON.stringify(['far', { delay: 'P30D' }]))
    await until(() => arrivedAt > 0, 'it arrives')
    assert.ok(arrivedAt - sentAt >= 1_000, `${arrivedAt - sentAt} ms`)
    stop.abort()
    await ended
    assert.deepEqual(await queue.getDepth(), { queued: 1, ready: 0, delayed: 1 })
  })
}
