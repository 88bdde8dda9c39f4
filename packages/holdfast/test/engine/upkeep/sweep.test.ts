import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage, Queue } from 'holdfast'
import { type Swept } from 'holdfast/storage'
import { fakeClock } from 'holdfast/testing'
import type { EngineEvent } from '../../../src/engine/events.ts'
import { Sweeper } from '../../../src/engine/upkeep/sweep.ts'

const nothing: Swept = { jobs: 0, marks: 0, entries: 0, more: false }

/** A sweeper that finds, one call after the other, what the list says; then nothing. */
function sweeping(finds: (Swept | Error)[] = []) {
  const clock = fakeClock()
  const events: EngineEvent[] = []
  const at: number[] = []
  const storage = {
    sweep: async () => {
      at.push(clock.monotonic())
      const found = finds.shift() ?? nothing
      if (found instanceof Error) throw found
      return found
    },
  }
  const sweeper = new Sweeper({ storage, clock, tell: (event) => void events.push(event) })
  return { clock, sweeper, events, at }
}

test('where there is nothing to sweep it looks once a minute', async () => {
  const { clock, sweeper, at } = sweeping()
  sweeper.start()
  await clock.advance(53_000)
  assert.equal(at.length, 0)
  await clock.advance(547_000)
  assert.ok(at.length >= 10 && at.length <= 11, `${at.length} times in ten minutes`)
})

test('after a find it looks again in 5 s', async () => {
  const { clock, sweeper, at } = sweeping([{ ...nothing, jobs: 3 }])
  sweeper.start()
  await clock.advance(60_000 + 5_000)
  assert.equal(at.length, 2)
  assert.ok(at[1]! - at[0]! <= 5_000)
})

test('what is left over is swept at once', async () => {
  const { clock, sweeper, at } = sweeping([
    { ...nothing, jobs: 1_000, more: true },
    { ...nothing, marks: 1_000, more: true },
    { ...nothing, entries: 5 },
  ])
  sweeper.start()
  await clock.advance(60_000)
  assert.equal(at.length, 3)
})

test('a failure is told of, and it goes on', async () => {
  const { clock, sweeper, at, events } = sweeping([new Error('away')])
  sweeper.start()
  await clock.advance(180_000)
  assert.ok(at.length >= 3)
  assert.deepEqual(
    events.map(({ name }) => name),
    ['error'],
  )
})

test('stopped, it leaves nothing behind, also when stopped during a sweep', async () => {
  const { clock, sweeper, at } = sweeping([{ ...nothing, jobs: 1, more: true }])
  sweeper.start()
  await clock.advance(53_000)
  sweeper.stop()
  assert.equal(clock.pending, 0)

  const slow = fakeClock()
  const during = new Sweeper({
    storage: {
      sweep: async () => {
        during.stop()
        return { ...nothing, jobs: 1, more: true }
      },
    },
    clock: slow,
    tell: () => {},
  })
  during.start()
  await slow.advance(60_000)
  assert.equal(slow.pending, 0)
  assert.equal(at.length, 0)
})

test('[trap 38] a working queue sweeps what has expired, by itself', async (t) => {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const queue = new Queue<number>({ storage, clock, resultTTL: 1_000, concurrency: 100 })
  t.after(() => queue.stop({ timeout: 0 }))
  queue.execute(() => {})
  await queue.start()
  for (let n = 0; n < 500; n++) await queue.enqueue(`j${n}`, n)
  await clock.advance(500)
  assert.equal((await storage.count({})).types[0]!.states.completed, 500)
  await clock.advance(120_000)
  // Read by what is stored, not by what has not expired: the record is gone, not only absent.
  assert.deepEqual(await storage.sweep({ limit: 1_000 }), nothing)
  assert.equal((await storage.count({})).types.find(({ type }) => type === 'default')?.states.completed ?? 0, 0)
})
