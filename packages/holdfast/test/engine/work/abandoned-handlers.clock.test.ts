// Handlers that go on after their attempt timed out (F16).

import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { test, type TestContext } from 'node:test'
import type { AttemptEnd } from '../../../src/engine/work/outcomes.ts'
import { completed, workBench } from './bench.ts'
import { faceBench, faceNames } from './faces.ts'

/** The abandoned handlers of this process, by job. */
function abandonedIn(t: TestContext): unknown[] {
  const abandoned: unknown[] = []
  const onEvent = (event: unknown): void => {
    const { name, type, id, attempt } = event as { name: string; type: string; id: string; attempt: number }
    if (name === 'handler_abandoned') abandoned.push([type, id, attempt])
  }
  subscribe('holdfast', onEvent)
  t.after(() => unsubscribe('holdfast', onEvent))
  return abandoned
}

for (const face of faceNames) {
  test(`[F16] ${face}: a handler that goes on after its timeout is told once, and its slot is free`, async (t) => {
    const abandoned = abandonedIn(t)
    const end = Promise.withResolvers<void>()
    const bench = await faceBench(t, face, { timeoutMs: 1_000, maxAttempts: 1 }, () => end.promise)
    await bench.add()
    await bench.clock.advance(1_400)
    assert.deepEqual(abandoned, [], 'it has time to end')
    assert.equal((await bench.record()).state, 'failed')
    await bench.clock.advance(200)
    assert.deepEqual(abandoned, [[bench.type, 'a', 1]])
    end.resolve()
    await bench.clock.advance(10_000)
    assert.equal(abandoned.length, 1)
    assert.equal((await bench.record()).state, 'failed', 'its result is dropped')
  })

  test(`[F16] ${face}: a handler that ends by its signal is not abandoned`, async (t) => {
    const abandoned = abandonedIn(t)
    const bench = await faceBench(
      t,
      face,
      { timeoutMs: 1_000, maxAttempts: 1 },
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    )
    await bench.add()
    await bench.clock.advance(10_000)
    assert.equal((await bench.record()).state, 'failed')
    assert.deepEqual(abandoned, [])
  })
}

test('[F16] a worker counts its abandoned handlers while they run', async (t) => {
  const { worker: newWorker, clock, add, told } = workBench(t)
  const runs: PromiseWithResolvers<AttemptEnd>[] = []
  const run = (): Promise<AttemptEnd> => {
    runs.push(Promise.withResolvers())
    return runs.at(-1)!.promise
  }
  await add(['a', 'b'], { maxAttempts: 1 })
  const worker = newWorker({ concurrency: 2, capMs: 1_000, run })
  await worker.start()
  assert.equal(worker.abandoned, 0)
  await clock.advance(2_000)
  assert.equal(worker.abandoned, 2)
  assert.equal(told('handler_abandoned').length, 2)
  runs[0]!.resolve(completed)
  await clock.settle()
  assert.equal(worker.abandoned, 1)
  runs[1]!.resolve(completed)
  await clock.settle()
  assert.equal(worker.abandoned, 0)
})
