// What an idle queue costs: calls to the storage, counted. The time of the queue is moved by hand, that of the storage is real.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { QueueConfig } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { bench, type TestDriver, until } from './driver.ts'
import { faulty } from './faulty-storage.ts'

export function idleCostTests(driver: TestDriver): void {
  describe(`${driver.name}: idle cost`, () => {
    test('[F34] presenceMs: false: no call in 30 idle seconds', async (t) => {
      const { calls, pass } = await idleQueue(t, driver, { presenceMs: false })
      const before = calls().length
      await pass(30_000)
      assert.deepEqual(calls().slice(before), [])
    })

    test('[F34] one write of its presence per minute, and a sweep, but nothing else', async (t) => {
      const { calls, pass } = await idleQueue(t, driver, {})
      const before = calls().length
      for (let minute = 0; minute < 5; minute++) await pass(60_000)
      const made = calls().slice(before)
      assert.equal(made.filter((verb) => verb === 'kv.set').length, 5)
      const others = made.filter((verb) => verb !== 'kv.set')
      assert.ok(others.length <= 6 && others.every((verb) => verb === 'sweep'), others.join(', '))
    })

    test('[F34] the idle queue still starts a job at once, by a hint', async (t) => {
      const { queue, started, pass } = await idleQueue(t, driver, { presenceMs: false })
      await pass(30_000)
      await queue.enqueue('a', 1)
      await until(() => started.length > 0)
      assert.deepEqual(started, ['a'])
    })
  })
}

/** A started queue that waits for hints alone, once its start is through. */
async function idleQueue(t: TestContext, driver: TestDriver, config: Partial<QueueConfig<number, unknown>>) {
  const { queue: newQueue, storage } = await bench(t, driver)
  const [clock, line] = [fakeClock(), faulty(storage)]
  const queue = newQueue<number>({
    storage: line.storage,
    clock,
    blockTimeout: undefined,
    pollMs: Infinity,
    ...config,
  })
  const started: string[] = []
  queue.execute(({ id }) => void started.push(id))
  /** A call that has its answer may lead to another, without time passing. */
  const settled = (): Promise<void> =>
    until(async () => {
      const before = line.count()
      await clock.settle()
      return line.pending === 0 && line.count() === before
    })
  await queue.start()
  await settled()
  return {
    queue,
    started,
    calls: (): string[] => line.calls.map(({ verb }) => verb),
    pass: async (ms: number): Promise<void> => {
      await clock.advance(ms)
      await settled()
    },
  }
}
