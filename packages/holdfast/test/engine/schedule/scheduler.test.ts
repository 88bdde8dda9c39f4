import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { guardStorage } from '../../../src/engine/guard.ts'
import { Scheduler } from '../../../src/engine/schedule/scheduler.ts'
import { faulty } from '../../queue/faulty-storage.ts'

const retention = { completedMs: 1_000, failedMs: 1_000, cancelledMs: 1_000 }
const declared = [{ name: 'tick', rule: { everyMs: 1_000 }, job: { type: 'queue.default', retention } }]

test('a scheduler that is stopped during its start makes no further call, whenever the one under way is answered', async () => {
  // Every call of a start in its turn is the one that is answered after the stop.
  for (let slow = 1, calls = Infinity; slow <= calls; slow++) {
    const clock = fakeClock()
    const line = faulty(new MemoryStorage({ clock }))
    const storage = guardStorage(line.storage, clock, () => {})
    const answered = Promise.withResolvers<void>()
    line.on('*', async (apply) => {
      const answer = await apply()
      if (line.count() === slow) await answered.promise
      return answer
    })
    const isServed = (): boolean => true
    const publishEvent = (): void => {}
    const scheduler = new Scheduler({
      storage,
      clock,
      owner: 'queue.default',
      isServed,
      declared: declared as never,
      release: 1,
      polls: true,
      publishEvent,
    })
    const started = scheduler.start().catch(() => {})
    await clock.settle()
    if (line.count() < slow) {
      calls = line.count()
      assert.ok(calls > 3, `a start makes several calls, this one made ${calls}`)
    }
    void scheduler.stop()
    await clock.settle()
    const before = line.calls.map(({ verb }) => verb)
    answered.resolve()
    await clock.advance(5_000)
    await started
    const after = line.calls.slice(before.length).map(({ verb }) => verb)
    // A subscription that came late is given back.
    assert.deepEqual(after, before.at(-1) === 'listen' ? ['unlisten'] : [], `call ${slow}, ${before.at(-1)}`)
    assert.equal(clock.pending, 0)
  }
})
