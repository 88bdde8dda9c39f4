// One job per slot, however many processes race for it, with clocks that are wrong, and die: at each call of a fire.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Queue } from 'holdfast'
import { isFull, sized } from '../full-size.ts'
import { type Child, startChild } from '../processes/child.ts'
import { type ProcessDriver, processDrivers, stopServers } from '../processes/drivers.ts'
import { sleep, until } from './driver.ts'
import { putMissed } from './missed-slots.ts'
import { compileFirst } from './processes.ts'

const file = new URL('fixtures/process.ts', import.meta.url)
const minutes = 60_000
const gone = { completed: { ageMs: 0 } }

before(compileFirst)
after(stopServers)

/** Where a process dies: before or after the add of a slot, or the write of its mark. */
const deaths = ['add', 'kv.cas'].flatMap((verb) =>
  [1, 2, 3].map((number) => ({ verb, number: verb === 'add' ? number : number + 1, isAfter: number !== 2 })),
)
/** How many each schedule has missed. */
const slots = sized(100, 40)
/** With clocks ±5 min. Six of nine die; of the three of `npm test` two. */
const processes = [
  ...(isFull ? deaths : [deaths[1], deaths[3]]),
  ...Array.from({ length: sized(3, 1) }, () => undefined),
].map((dies, index) => ({ shiftMs: (index % 3) * 5 * minutes - 5 * minutes, dies }))

function tests(driver: ProcessDriver): void {
  test(`[F7] [S21] [K5] ${driver.name}: ${processes.length + 1} processes, ${slots} missed slots, kill -9: exactly ${slots} jobs per schedule`, async (t) => {
    const place = await driver.open()
    const storage = place.storage()
    const queue = new Queue<string>({ storage, concurrency: 50 })
    t.after(async () => {
      await queue.stop({ timeout: 0 })
      await place.close()
    })
    const expected: string[] = []
    for (const name of ['a', 'b', 'c', 'd']) {
      expected.push(
        ...(await putMissed(storage, queue, name, { payload: 'x', catchUp: 'all', retention: gone }, slots)),
      )
    }
    const start = async (settings: object): Promise<Child> => {
      const child = await startChild(file, t, place, 'schedule', settings)
      await child.hears((line) => line === 'ready', 'it is ready')
      return child
    }
    // One that stands still before its adds, and goes on when all is over: it decided long ago.
    const stale = await start({ shiftMs: 5 * minutes, holds: true })
    stale.send()
    await stale.hears((line) => line === 'holds', 'it holds its add')
    const children = await Promise.all(processes.map(start))
    for (const child of children) child.send()

    const runs = new Map<string, number>()
    queue.execute(({ id }) => void runs.set(id, (runs.get(id) ?? 0) + 1))
    await queue.start()
    await until(() => runs.size >= expected.length, 'all slots ran', 60_000)
    for (const child of [...children, stale]) child.send()
    await Promise.all([...children, stale].map(({ exited }) => exited))
    const added = stale.said.flatMap((line) => (line as { added?: number }).added ?? [])
    assert.ok(added.length > 0)
    assert.deepEqual(new Set(added), new Set([0]))
    // Nothing is left that could fire. What is there runs.
    await until(async () => (await queue.counts()).due === 0 && (await queue.counts()).states.processing === 0)
    assert.deepEqual([...runs.keys()].toSorted(), expected.toSorted())
    assert.deepEqual(new Set(runs.values()), new Set([1]))
  })

  test(
    `[F7] ${driver.name}: 100 slots of 1 s, processes killed at random`,
    { skip: !isFull && 'test:all' },
    async (t) => {
      const place = await driver.open()
      const storage = place.storage()
      const queue = new Queue<string>({ storage, concurrency: 50 })
      t.after(async () => {
        await queue.stop({ timeout: 0 })
        await place.close()
      })
      const runs: number[] = []
      queue.execute(({ schedule }) => void runs.push(schedule!.slotAt!))
      await queue.schedules.put('a', { payload: 'x', everyMs: 1_000, catchUp: 'all', retention: gone })
      const over = new AbortController()
      const lives = Array.from({ length: 10 }, async (_, index) => {
        while (!over.signal.aborted) {
          const child = await startChild(file, t, place, 'schedule', {
            shiftMs: (index % 3) * 5 * minutes - 5 * minutes,
          })
          await child.hears((line) => line === 'ready', 'it is ready')
          child.send()
          await sleep(2_000 + Math.random() * 8_000)
          child.signal('SIGKILL')
          await child.exited
        }
      })
      await queue.start()
      await until(() => runs.length >= 100, '100 slots ran', 180_000)
      await queue.schedules.remove('a')
      over.abort()
      await Promise.all(lives)
      const fired = runs.toSorted((one, other) => one - other)
      assert.deepEqual(
        fired,
        fired.map((_, n) => fired[0]! + n * 1_000),
      )
    },
  )
}

describe('schedules of several processes', { concurrency: 2 }, () => {
  for (const name of ['sqlite', 'postgres', 'redis', 'file'] as const) tests(processDrivers[name])
})
