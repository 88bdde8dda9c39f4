// Schedules on a real storage: what the storage decides. The rest is in schedules.clock.test.ts.

import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { describe, test, type TestContext } from 'node:test'
import type { QueueSchedule } from 'holdfast'
import { bench, gate, type TestDriver, until } from './driver.ts'
import { faulty } from './faulty-storage.ts'
import { putMissed } from './missed-slots.ts'

/** The slots that were skipped from now on, in the order of the events. */
function watchSkips(t: TestContext, schedule: string): number[] {
  const counts: number[] = []
  const listener = (event: unknown): void => {
    const skip = event as { name: string; schedule: string; count: number }
    if (skip.name === 'schedule_skipped' && skip.schedule === schedule) counts.push(skip.count)
  }
  channel('holdfast').subscribe(listener)
  t.after(() => channel('holdfast').unsubscribe(listener))
  return counts
}

/** Records are deleted at their end: their ids are free again, and only the key of the schedule is left to refuse a slot. */
const gone = { completed: { ageMs: 0 } }

/** A period with no slot between 2010 and 2049: none comes during a test. */
const longPeriod = 40 * 365.25 * 86_400_000

export function scheduleTests(driver: TestDriver): void {
  describe(`${driver.name}: schedules`, () => {
    test('[F7] [F9] [S21] three queues race for 100 missed slots: one job per slot, also when those are gone', async (t) => {
      const { storage, queue } = await bench(t, driver)
      const runs: string[] = []
      const operator = queue<string>()
      const ids = await putMissed(storage, operator, 'a', { payload: 'x', catchUp: 'all', retention: gone }, 100)
      const racers = [1, 2, 3].map(() => queue<string>({ concurrency: 10 }))
      for (const racer of racers) racer.execute(({ id }) => void runs.push(id))
      await Promise.all(racers.map((racer) => racer.start()))
      await until(() => runs.length >= 100, 'all slots ran')
      // A process that begins later knows no mark: the storage refuses each slot.
      assert.equal(await storage.kv.delete(['holdfast', 'schedule marks', 'queue.default', 'a']), true)
      const line = faulty(storage)
      const late = queue<string>({ storage: line.storage })
      late.execute(({ id }) => void runs.push(id))
      await late.start()
      await until(() => line.calls.some(({ verb, answer }) => verb === 'add' && answer !== undefined), 'it tried')
      await Promise.all([...racers, late].map((racer) => racer.stop()))
      assert.deepEqual(runs.toSorted(), ids.toSorted())
      assert.deepEqual((await operator.counts()).states.queued, 0)
    })

    test('[F9] catchUp latest fires the newest of 100 missed slots, and skip none', async (t) => {
      const { storage, queue } = await bench(t, driver)
      const [skips, latestSkips] = [watchSkips(t, 'skip'), watchSkips(t, 'latest')]
      const runs: string[] = []
      const worker = queue<string>()
      await putMissed(storage, worker, 'skip', { payload: 'x', catchUp: 'skip' }, 100)
      const ids = await putMissed(storage, worker, 'latest', { payload: 'x' }, 100)
      worker.execute(({ id }) => void runs.push(id))
      await worker.start()
      await until(() => runs.length > 0 && skips.length > 0 && latestSkips.length > 0)
      await worker.stop()
      assert.deepEqual(runs, ids.slice(-1))
      assert.deepEqual([skips, latestSkips], [[100], [99]])
    })

    test('[F6] [F7] a schedule that is put fires in started queues; its jobs know it and their slot', async (t) => {
      const { queue } = await bench(t, driver)
      const worker = queue<{ n: number }>()
      const seen = gate<{ id: string; name: string; slotAt: number; payload: { n: number } }>()
      worker.execute(({ id, payload, schedule }) => {
        seen.resolve({ id, payload, name: schedule!.name, slotAt: schedule!.slotAt! })
      })
      await worker.start()
      const operator = queue<{ n: number }>()
      await operator.schedules.put("every second / of 'it'", {
        payload: { n: 7 },
        cron: '* * * * * *',
        timeZone: 'Asia/Tokyo',
      })
      const { id, name, slotAt, payload } = await seen.promise
      assert.equal(name, "every second / of 'it'")
      assert.equal(slotAt % 1_000, 0)
      assert.equal(id, `${name}@${new Date(slotAt).toISOString()}`)
      assert.deepEqual(payload, { n: 7 })
      await until(async () => (await operator.schedules.list())[0]!.lastAt! >= slotAt, 'the slot is marked')
      const [info] = await operator.schedules.list()
      assert.equal(info!.nextAt! % 1_000, 0)
      assert.equal(await operator.schedules.remove(name), true)
      assert.equal(await operator.schedules.remove(name), false)
      assert.deepEqual(await operator.schedules.list(), [])
    })

    test('[F10] overlap skip: slots of a job that runs are skipped', async (t) => {
      const { storage, queue } = await bench(t, driver)
      const skips = watchSkips(t, 'a')
      const worker = queue<string>({ concurrency: 5 })
      const ids = await putMissed(storage, worker, 'a', { payload: 'x', catchUp: 'all', overlap: 'skip' }, 4)
      const runs: string[] = []
      const end = gate()
      worker.execute(async ({ id }) => {
        runs.push(id)
        await end.promise
      })
      await worker.start()
      await until(() => runs.length === 1 && skips.length === 3)
      end.resolve()
      assert.deepEqual(runs, ids.slice(0, 1))
    })

    test('[F10] overlap queue: slots run one at a time, oldest first', async (t) => {
      const { storage, queue } = await bench(t, driver)
      const worker = queue<string>({ concurrency: 5 })
      const ids = await putMissed(storage, worker, 'a', { payload: 'x', catchUp: 'all', overlap: 'queue' }, 10)
      const ended: string[] = []
      let running = 0
      worker.execute(async ({ id }) => {
        assert.equal(++running, 1)
        await new Promise(setImmediate)
        running--
        ended.push(id)
      })
      await worker.start()
      await until(() => ended.length === 10)
      assert.deepEqual(ended, ids)
    })

    test('[F8] releases that start at once: what the greatest declares stays, and what an operator put', async (t) => {
      const { queue } = await bench(t, driver)
      const rule = { payload: 'x', everyMs: longPeriod }
      const operator = queue<string>()
      await operator.schedules.put('operator', rule)
      const declared: Readonly<Record<string, QueueSchedule<string>>>[] = [
        { a: rule, b: rule },
        { b: { ...rule, payload: 'y' }, c: rule },
      ]
      const started = [1, 1, 2, 2, 1, 2].map((release) => queue<string>({ release, schedules: declared[release - 1]! }))
      await Promise.all(started.map((each) => each.start()))
      const all = (await operator.schedules.list()).map(({ name, payload, release }) => `${name} ${payload} ${release}`)
      assert.deepEqual(all.toSorted(), ['b y 2', 'c x 2', 'operator x undefined'])
    })

    test('pause, resume, fire and preview work from any queue of the name', async (t) => {
      const { queue } = await bench(t, driver)
      const ids: string[] = []
      const worker = queue<string>({ schedules: { a: { payload: 'x', everyMs: longPeriod } } })
      worker.execute(({ id, schedule }) => {
        assert.deepEqual(schedule, { name: 'a' })
        ids.push(id)
      })
      await worker.start()
      const { schedules } = queue<string>()
      assert.equal(await schedules.pause('a', { by: 'ops' }), true)
      assert.equal((await schedules.list())[0]!.paused!.by, 'ops')
      // An operator may fire it all the same.
      const id = await schedules.fire('a')
      await until(() => ids.length === 1)
      assert.deepEqual(ids, [id])
      assert.equal(await schedules.resume('a'), true)
      const [info] = await schedules.list()
      assert.equal(info!.paused, undefined)
      const [first, second] = await schedules.preview('a', 2)
      assert.equal(second!.at - first!.at, longPeriod)
      assert.equal(first!.at, info!.nextAt)
    })
  })
}
