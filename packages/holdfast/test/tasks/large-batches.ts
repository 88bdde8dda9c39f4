// Batches above 1,000 messages, on a real storage: in moves, each stored whole or not at all; resumed after a failure without a
// second copy of any message.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { BatchInterruptedError, createTasks, StorageMessageQueue } from 'holdfast/tasks'
import { sized } from '../full-size.ts'
import type { ProcessDriver } from '../processes/drivers.ts'
import { until } from '../queue/driver.ts'
import { faulty } from '../queue/faulty-storage.ts'
import { anything, recordEvents } from './fakes.ts'

const size = sized(25_000, 5_000)
const numbers = (count: number): number[] => Array.from({ length: count }, (_, number) => number)

async function bench(t: TestContext, driver: ProcessDriver) {
  const place = await driver.open()
  const line = faulty(place.storage())
  const queue = new StorageMessageQueue(line.storage, { concurrency: 100 })
  t.after(async () => {
    await queue.close()
    await place.close()
  })
  const adds = (): number[] => line.calls.filter(({ verb }) => verb === 'add').map(({ args }) => (args[0] as []).length)
  return { queue, line, adds }
}

/** The error that enqueueMany rejects with. */
async function incomplete(call: Promise<unknown>): Promise<BatchInterruptedError> {
  const error: unknown = await call.then(
    () => assert.fail('it resolved'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof BatchInterruptedError, String(error))
  return error
}

/** Takes every message, and returns how often each number came. */
async function received(queue: StorageMessageQueue, expected: number): Promise<Map<number, number>> {
  const times = new Map<number, number>()
  let count = 0
  const consumer = await queue.consume((number: number) => {
    times.set(number, (times.get(number) ?? 0) + 1)
    count++
  })
  await until(() => count >= expected, 'every message is handled', 120_000)
  await until(async () => (await queue.counts()).states.processing === 0, 'every outcome is recorded', 60_000)
  await consumer.stop()
  return times
}

const refusal = () => Promise.reject(Object.assign(new Error('refused'), { maybeApplied: false }))

export function largeBatchTests(driver: ProcessDriver): void {
  const on = `on ${driver.name}`

  test(`[F3] ${size} messages ${on} are stored in moves of 1,000, in order, and handled once each`, async (t) => {
    const { queue, adds } = await bench(t, driver)
    const { status, ids } = await queue.enqueueMany(numbers(size))
    assert.equal(status, 'enqueued')
    assert.deepEqual([ids.length, new Set(ids).size], [size, size])
    assert.deepEqual(
      adds(),
      numbers(size / 1_000).map(() => 1_000),
    )
    assert.equal((await queue.getDepth()).ready, size)
    for (const index of [0, 999, 1_000, size - 1]) assert.equal((await queue.get(ids[index]!))!.message, index)
    const times = await received(queue, size)
    assert.equal(times.size, size)
    assert.ok([...times.values()].every((count) => count === 1))
  })

  test(`[F3] a batch that fails in the middle ${on}: the error says how many are in, and resume sends the rest`, async (t) => {
    const { queue, line, adds } = await bench(t, driver)
    const messages = numbers(4_500)
    line.on('add', (apply, { number }) => (number === 3 ? refusal() : apply()))
    const error = await incomplete(queue.enqueueMany(messages))
    assert.deepEqual(
      [error.code, error.accepted, error.total, error.maybeApplied],
      ['BATCH_INTERRUPTED', 2_000, 4_500, false],
    )
    assert.match(error.message, /2000 of 4500 items are stored.*refused.*resume/)
    assert.equal((await queue.getDepth()).queued, 2_000)
    const { ids } = await queue.enqueueMany(messages, { resume: error.resume })
    assert.equal(new Set(ids).size, 4_500)
    assert.deepEqual(adds(), [1_000, 1_000, 1_000, 1_000, 1_000, 500])
    const times = await received(queue, 4_500)
    assert.deepEqual(
      [...times.keys()].toSorted((a, b) => a - b),
      messages,
    )
    assert.ok([...times.values()].every((count) => count === 1))
  })

  test(`[F3] a move that was applied and whose answer was lost ${on} is recognised by the call that resumes`, async (t) => {
    const { queue, line } = await bench(t, driver)
    line.on('add', async (apply, { number }) => {
      const answer = await apply()
      if (number === 2 || number === 3) throw new Error('the answer was lost')
      return answer
    })
    const messages = numbers(2_500)
    const first = await incomplete(queue.enqueueMany(messages))
    assert.deepEqual([first.accepted, first.maybeApplied], [1_000, true])
    const second = await incomplete(queue.enqueueMany(messages, { resume: first.resume }))
    assert.deepEqual([second.accepted, second.maybeApplied], [1_000, true])
    assert.equal((await queue.getDepth()).queued, 2_000)
    await queue.enqueueMany(messages, { resume: second.resume! })
    assert.equal((await queue.getDepth()).queued, 2_500)
    // Of a batch that is complete nothing is missing.
    await queue.enqueueMany(messages, { resume: second.resume!.replace(/\d+$/, '2500') })
    assert.equal((await queue.getDepth()).queued, 2_500)
  })

  test(`[F3] a transient failure of a move ${on} is repeated inside the call; a call without resume sends all again`, async (t) => {
    const { queue, line } = await bench(t, driver)
    const busy = Object.assign(new Error('busy'), { transient: true })
    line.on('add', async (apply, { number }) => {
      if (number === 2) throw busy
      const answer = await apply()
      if (number === 4) throw busy
      return answer
    })
    await queue.enqueueMany(numbers(3_000))
    assert.equal((await queue.getDepth()).queued, 3_000)
    await queue.enqueueMany(numbers(3_000))
    assert.equal((await queue.getDepth()).queued, 6_000)
  })

  test(`[F3] an ordered batch in moves ${on} keeps its order, and a later call stays behind it`, async (t) => {
    const { queue } = await bench(t, driver)
    const orderingKey = 'k'
    const [, late] = await Promise.all([
      queue.enqueueMany(numbers(1_050), { orderingKey }),
      queue.enqueue(1_050, { orderingKey }),
    ])
    assert.equal(late.status, 'enqueued')
    assert.deepEqual([...(await received(queue, 1_051)).keys()], numbers(1_051))
  })

  test(`[F3] enqueueTaskMany ${on}: an id for each payload, moves of 1,000, an error with the index, and events of what is stored`, async (t) => {
    const { queue, line, adds } = await bench(t, driver)
    const tasks = createTasks({ queue })
    const runs: number[] = []
    const task = tasks.defineTask('n', {
      schema: anything<unknown>(),
      handler: (_, data) => void runs.push(data as number),
    })
    const events = recordEvents(tasks)
    const bad = [...numbers(1_500), () => {}]
    await assert.rejects(tasks.enqueueTaskMany(task, bad), { code: 'SERIALIZATION_ERROR', index: 1_500 })
    assert.deepEqual([adds(), events.length], [[], 0])
    line.on('add', (apply, { number }) => (number === 2 ? refusal() : apply()))
    const error = await incomplete(tasks.enqueueTaskMany(task, numbers(2_100)))
    assert.deepEqual([error.accepted, events.length], [1_000, 1_000])
    const { ids, status } = await tasks.enqueueTaskMany(task, numbers(2_100), { resume: error.resume })
    assert.deepEqual([status, ids.length, new Set(ids).size, events.length], ['enqueued', 2_100, 2_100, 2_100])
    assert.deepEqual([(await tasks.get(ids[0]!))!.data, (await tasks.get(ids[2_099]!))!.data], [0, 2_099])
    await tasks.start()
    await until(() => runs.length === 2_100, 'every task runs', 60_000)
    await tasks.stop()
    assert.equal(new Set(runs).size, 2_100)
  })
}
