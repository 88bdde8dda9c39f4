// Limits of a Queue, under a fake clock: concurrency, rates, groups, depth, and what an operator sets over them.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Queue, QueueConfig } from 'holdfast'
import { clockBench } from './clock-bench.ts'

const [second, minute, hour] = [1_000, 60_000, 3_600_000]

/** Few timers besides those of the limits. */
const rare = { pollMs: hour, leaseMs: hour, presenceMs: false } as const

/** A bench whose queues note when their jobs began; the jobs take `runMs`. */
function limitBench(t: TestContext) {
  const bench = clockBench(t)
  const runs: { readonly id: string; readonly at: number }[] = []
  let [running, most] = [0, 0]
  return {
    ...bench,
    runs,
    ids: (): string[] => runs.map(({ id }) => id),
    times: (): number[] => runs.map(({ at }) => at),
    mostAtOnce: (): number => most,
    async worker(config: Partial<QueueConfig<number, unknown>>, runMs = 0): Promise<Queue<number, unknown>> {
      const queue = bench.queue<number>({ ...rare, concurrency: 100, ...config })
      queue.execute(async ({ id }) => {
        runs.push({ id, at: bench.now() })
        most = Math.max(most, ++running)
        if (runMs > 0) await new Promise<void>((resolve) => void bench.clock.after(runMs, resolve))
        running--
      })
      await queue.start()
      return queue
    },
  }
}

async function addAll(
  queue: Queue<number, unknown>,
  ids: readonly string[],
  options: Parameters<Queue<number>['enqueue']>[2] = {},
): Promise<void> {
  for (const id of ids) await queue.enqueue(id, 1, options)
}

const names = (count: number, prefix = 'j'): string[] => Array.from({ length: count }, (_, index) => prefix + index)

describe('limits of a Queue', () => {
  test('[F20] concurrency: over two queues, and never above it', async (t) => {
    const { worker, clock, runs, mostAtOnce, times } = limitBench(t)
    const limits = { concurrency: 3 }
    const [first] = [await worker({ limits }, second), await worker({ limits }, second)]
    await addAll(first, names(12))
    await clock.advance(10 * second)
    assert.deepEqual([runs.length, mostAtOnce()], [12, 3])
    // A free place is filled at once, without a poll.
    assert.deepEqual(
      times(),
      [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3].map((s) => s * second),
    )
  })

  test('[F22] rate: no more starts in an interval, and the next as soon as it may', async (t) => {
    const { worker, clock, times } = limitBench(t)
    const queue = await worker({ limits: { rate: { limit: 2, perMs: minute } } })
    await addAll(queue, names(5))
    await clock.advance(10 * minute)
    assert.deepEqual(times(), [0, 0, minute, minute, 2 * minute])
  })

  test('[F22] weight: a heavy job is waited for, and one above the limit is refused', async (t) => {
    const { worker, clock, runs } = limitBench(t)
    const queue = await worker({
      limits: { rate: { limit: 4, perMs: minute }, group: { rate: { limit: 2, perMs: 1 } } },
    })
    await queue.enqueue('light', 1)
    await queue.enqueue('heavy', 1, { weight: 4 })
    await queue.enqueue('behind', 1)
    await clock.advance(hour)
    assert.deepEqual(runs, [
      { id: 'light', at: 0 },
      { id: 'heavy', at: minute },
      { id: 'behind', at: 2 * minute },
    ])
    const refused = { code: 'INVALID_ARGUMENT', message: /weight: expected at most 4, .* got 5/ }
    await assert.rejects(queue.enqueue('a', 1, { weight: 5 }), refused)
    await assert.rejects(queue.enqueueAndWait('a', 1, { weight: 5 }), refused)
    await assert.rejects(
      queue.enqueueMany([
        { id: 'a', payload: 1 },
        { id: 'b', payload: 1, weight: 5 },
      ]),
      {
        code: 'INVALID_ARGUMENT',
        message: /^items\[1\]\.weight/,
        index: 1,
      },
    )
    await assert.rejects(queue.enqueue('a', 1, { weight: 3, group: 'g' }), { message: /at most 2, .* its group/ })
    assert.equal(await queue.getStatus('a'), null)
    assert.equal((await queue.get('heavy'))!.weight, 4)
  })

  test('[F21] [F24] groups: at most `limit` of each at a time, and they take turns', async (t) => {
    const { worker, clock, ids } = limitBench(t)
    const queue = await worker({ concurrency: 1, limits: { group: { limit: 1 } } }, second)
    await queue.pause()
    await addAll(queue, names(3, 'a'), { group: 'a' })
    await addAll(queue, names(2, 'b'), { group: { key: 'b' } })
    await queue.enqueue('alone', 1)
    await queue.resume()
    await clock.advance(minute)
    assert.deepEqual(ids().toSorted(), ['a0', 'a1', 'a2', 'alone', 'b0', 'b1'])
    assert.deepEqual(ids().slice(0, 3).toSorted(), ['a0', 'alone', 'b0'], ids().join())
  })

  test('[F24] fair: false is sent with the claims, and priority decides across groups', async (t) => {
    const { worker, clock, ids } = limitBench(t)
    const queue = await worker({ concurrency: 1, limits: { group: { fair: false } } }, second)
    await queue.pause()
    await addAll(queue, names(2, 'a'), { group: 'a', priority: 5 })
    await addAll(queue, names(2, 'b'), { group: 'b' })
    await queue.resume()
    await clock.advance(minute)
    assert.deepEqual(ids(), ['a0', 'a1', 'b0', 'b1'])
  })

  test('[F21] an ordered group that is to hold waits for its failed job; the job decides, then the queue', async (t) => {
    const { queue: newQueue, clock } = clockBench(t)
    const ran: string[] = []
    const queue = newQueue<boolean>({ ...rare, maxAttempts: 1, limits: { group: { onFailure: 'hold' } } })
    let isBroken = true
    queue.execute(({ id, payload }) => {
      ran.push(id)
      if (payload && isBroken) throw new Error('no')
    })
    await queue.start()
    const held = { key: 'held', ordered: true } as const
    const free = { key: 'free', ordered: true, onFailure: 'continue' } as const
    for (const [id, group] of [
      ['h1', held],
      ['h2', held],
      ['f1', free],
      ['f2', free],
    ] as const) {
      await queue.enqueue(id, id.endsWith('1'), { group })
    }
    await clock.advance(second)
    assert.deepEqual(ran.toSorted(), ['f1', 'f2', 'h1'])
    const [group] = (await queue.limits({ groups: ['held'] })).groups
    assert.deepEqual([group!.use.heldBy, group!.use.waiting], ['h1', 1])
    isBroken = false
    await queue.retry('h1')
    await clock.advance(second)
    assert.deepEqual(ran.slice(3), ['h1', 'h2'])
  })

  test('[F21] GROUP_KIND: a group is ordered or not while it has unfinished jobs', async (t) => {
    const { queue: newQueue } = clockBench(t)
    const queue = newQueue<number>()
    // In one tick: the refusal of one is no matter of the others.
    const [first, second_, other] = await Promise.allSettled([
      queue.enqueue('a', 1, { group: { key: 'g', ordered: true } }),
      queue.enqueue('b', 1, { group: 'g' }),
      queue.enqueue('c', 1),
    ])
    assert.deepEqual([first.status, second_.status, other.status], ['fulfilled', 'rejected', 'fulfilled'])
    await assert.rejects(queue.enqueue('d', 1, { group: 'g' }), {
      name: 'HoldfastError',
      code: 'GROUP_KIND',
      jobId: 'd',
      group: 'g',
      ordered: true,
    })
    assert.deepEqual(
      await queue.enqueueMany([
        { id: 'e', payload: 1, group: 'g' },
        { id: 'f', payload: 1, group: { key: 'g', ordered: true } },
      ]),
      [{ status: 'group_kind', ordered: true }, { status: 'queued' }],
    )
    assert.equal(await queue.getStatus('b'), null)
  })
})

test('[F21] calls that are not awaited are added in their order, also while the limits are read', async (t) => {
  const { queue: newQueue, clock, line } = clockBench(t)
  const queue = newQueue<number>({ limits: { group: { limit: 1 } } })
  const order = (): unknown[] =>
    line.calls.flatMap(({ verb, args }) => (verb === 'add' ? (args[0] as { id: string }[]).map(({ id }) => id) : []))
  const enqueue = (id: string): Promise<unknown> => queue.enqueue(id, 1, { group: { key: 'g', ordered: true } })
  await Promise.all([enqueue('a'), enqueue('b')])
  await clock.advance(6 * second)
  // Whatever the moment, no call passes one that came before it.
  for (let round = 0; round < 20; round++) {
    await clock.advance(6 * second)
    const calls = [enqueue(`${round}-0`)]
    for (let tick = 0; tick < round; tick++) await Promise.resolve()
    calls.push(enqueue(`${round}-1`), enqueue(`${round}-2`))
    await Promise.all(calls)
  }
  assert.deepEqual(order(), [
    'a',
    'b',
    ...Array.from({ length: 20 }, (_, n) => [0, 1, 2].map((m) => `${n}-${m}`)).flat(),
  ])
})

describe('maxWaiting of a Queue', () => {
  test('[F24] QUEUE_FULL: a further job is refused, a duplicate is not, and one fits again later', async (t) => {
    const { queue: newQueue, clock } = clockBench(t)
    const queue = newQueue<number>({ ...rare, name: 'mail', limits: { maxWaiting: 2 } })
    await addAll(queue, ['a', 'b'])
    const full = { name: 'QueueFullError', code: 'QUEUE_FULL', of: 'type', waiting: 2, max: 2, queue: 'mail' }
    await assert.rejects(queue.enqueue('c', 1), full)
    await assert.rejects(queue.enqueueAndWait('c', 1), full)
    assert.equal(await queue.getStatus('c'), null)
    assert.equal((await queue.enqueue('a', 1)).status, 'duplicate')
    queue.execute(() => {})
    await queue.start()
    await clock.advance(second)
    assert.equal((await queue.enqueue('c', 1)).status, 'queued')
  })

  test('[F24] per group, and each call of one tick is decided alone', async (t) => {
    const { queue: newQueue } = clockBench(t)
    const queue = newQueue<number>({ limits: { maxWaiting: 3, group: { maxWaiting: 1 } } })
    const results = await Promise.allSettled([
      queue.enqueue('a', 1, { group: 'g' }),
      queue.enqueue('b', 1, { group: 'g' }),
      queue.enqueue('c', 1),
      queue.enqueue('d', 1, { group: 'other' }),
      queue.enqueue('e', 1),
    ])
    assert.deepEqual(
      results.map((result) => (result.status === 'rejected' ? [result.reason.of, result.reason.group] : 'queued')),
      ['queued', ['group', 'g'], 'queued', 'queued', ['type', undefined]],
    )
  })

  test('[F24] enqueueMany says it for each item', async (t) => {
    const { queue: newQueue } = clockBench(t)
    const queue = newQueue<number>({ limits: { maxWaiting: 2 } })
    const items = names(4).map((id) => ({ id, payload: 1 }))
    const full = { status: 'queue_full', of: 'type', waiting: 2, max: 2 }
    assert.deepEqual(await queue.enqueueMany(items), [{ status: 'queued' }, { status: 'queued' }, full, full])
  })

  test('[F24] retries, snoozes and slots of a schedule are never refused', async (t) => {
    const { queue: newQueue, clock } = clockBench(t)
    const queue = newQueue<number>({
      ...rare,
      limits: { maxWaiting: 1 },
      backoff: { type: 'fixed', delayMs: hour },
      schedules: { minutely: { everyMs: minute, payload: 2 } },
    })
    queue.execute(() => {
      throw new Error('no')
    })
    await queue.start()
    await queue.enqueue('a', 1)
    await clock.advance(3 * minute)
    assert.equal((await queue.counts()).states.failing, 4)
  })

  test('[F24] an operator may set it on a queue that declares no limits; its producers see it within 5 s', async (t) => {
    const { queue: newQueue, clock, line } = clockBench(t)
    const queue = newQueue<number>()
    await newQueue().setLimits({ maxWaiting: 1 })
    await addAll(queue, ['a', 'b'])
    // A program that only adds some jobs makes no other call.
    const before = line.count('kv.get')
    await clock.advance(5 * second)
    await queue.enqueue('c', 1)
    await clock.settle()
    assert.equal(line.count('kv.get'), before + 1)
    await assert.rejects(queue.enqueue('d', 1), { code: 'QUEUE_FULL', waiting: 3, max: 1 })
  })
})
