// What an operator sets over the limits of the code: setLimits() and limits(), and when workers apply it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ClaimRequest } from 'holdfast/storage'
import { clockBench } from './clock-bench.ts'
import { failing } from './faulty-storage.ts'

const [second, minute, hour] = [1_000, 60_000, 3_600_000]
const rare = { pollMs: hour, leaseMs: hour, presenceMs: false } as const
const forever = (): Promise<void> => new Promise(() => {})

describe('setLimits() and limits()', () => {
  test('[F20] limits() shows what is declared, set, in force and used; who set it, and when', async (t) => {
    const { queue: newQueue, clock } = clockBench(t)
    const rate = { limit: 10, perMs: minute }
    const queue = newQueue<number>({ ...rare, concurrency: 5, release: 7, limits: { concurrency: 2, rate } })
    queue.execute(forever)
    await queue.start()
    for (const id of ['a', 'b', 'c']) await queue.enqueue(id, 1, { group: 'g' })
    await clock.advance(second)
    await queue.setLimits({ concurrency: 3, rate: null }, { by: 'ada' })
    await queue.setLimits({ limit: 1 }, { group: 'g', by: 'bob' })
    const at = clock.now()
    const { use, groups, ...info } = await queue.limits({ groups: ['other'] })
    assert.deepEqual(info, {
      declared: { limits: { concurrency: 2, rate }, release: 7 },
      override: { limits: { concurrency: 3 }, at, by: 'ada' },
      effective: { concurrency: 3, rate },
    })
    assert.deepEqual([use.running, use.waiting, use.used], [2, 1, 2])
    assert.deepEqual(
      groups.map(({ group, override, effective }) => ({ group, override, effective })),
      [
        { group: 'g', override: { limits: { limit: 1 }, at, by: 'bob' }, effective: { limit: 1 } },
        { group: 'other', override: undefined, effective: {} },
      ],
    )
    const [ofGroup] = groups
    assert.deepEqual([ofGroup!.use.running, ofGroup!.use.waiting], [2, 1])
  })

  test('[F20] a null removes one field, and a null for all of it removes the override', async (t) => {
    const { queue: newQueue } = clockBench(t)
    const queue = newQueue<number>({ limits: { concurrency: 2, group: { limit: 1 } } })
    const inForce = async () => (await queue.limits()).effective
    await queue.setLimits({ concurrency: 5, maxWaiting: 9, group: { limit: 4 } })
    assert.deepEqual(await inForce(), {
      concurrency: 5,
      maxWaiting: 9,
      group: { limit: 4, onFailure: 'continue', fair: true },
    })
    await queue.setLimits({ maxWaiting: null, group: null })
    assert.deepEqual(await inForce(), { concurrency: 5, group: { limit: 1, onFailure: 'continue', fair: true } })
    await queue.setLimits({ concurrency: Infinity })
    assert.equal((await inForce()).concurrency, Infinity)
    await queue.setLimits(null)
    assert.equal((await queue.limits()).override, undefined)
    assert.equal((await inForce()).concurrency, 2)
    await queue.setLimits({ limit: 4 }, { group: 'g' })
    await queue.setLimits(null, { group: 'g' })
    assert.deepEqual((await queue.limits()).groups, [])
  })

  test('[F20] what is wrong is refused, and nothing is written', async (t) => {
    const { queue: newQueue, line } = clockBench(t)
    const queue = newQueue<number>()
    for (const [patch, options] of [
      [{ concurency: 5 }, undefined],
      [{ concurrency: 0 }, undefined],
      [{ concurrency: 5 }, { group: 'g' }],
      [{ limit: 5 }, undefined],
      [{ limit: 5 }, { group: '' }],
      [{ limit: 5 }, { grupp: 'g' }],
      ['none', undefined],
    ] as const) {
      await assert.rejects(queue.setLimits(patch as never, options as never), { code: 'INVALID_ARGUMENT' })
    }
    await assert.rejects(queue.limits({ groups: [''] }), { code: 'INVALID_ARGUMENT' })
    assert.equal(line.count('kv.cas', 'kv.set'), 0)
    assert.throws(() => newQueue({ limits: { concurency: 1 } as object }), { message: /did you mean concurrency/ })
    assert.throws(() => newQueue({ limiter: { max: 1 } } as object), { message: /did you mean limits/ })
  })

  test('[F20] at most 1,000 groups of a queue have limits of their own', async (t) => {
    const { queue: newQueue, storage } = clockBench(t)
    const queue = newQueue<number>()
    const groups = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, n) => [`g${n}`, { limits: { limit: 1 }, at: 0 }]),
    )
    await storage.kv.set(['holdfast', 'limits', 'queue.default'], Buffer.from(JSON.stringify({ groups })))
    await queue.setLimits({ limit: 2 }, { group: 'g5' })
    await assert.rejects(queue.setLimits({ limit: 2 }, { group: 'one more' }), { code: 'INVALID_ARGUMENT' })
  })

  test('[F20] two operators at once do not undo each other', async (t) => {
    const { queue: newQueue } = clockBench(t)
    const queue = newQueue<number>()
    await Promise.all([
      queue.setLimits({ concurrency: 1 }),
      newQueue<number>().setLimits({ maxWaiting: 2 }),
      queue.setLimits({ limit: 3 }, { group: 'g' }),
    ])
    const { effective, groups } = await queue.limits()
    assert.deepEqual([effective, groups[0]!.effective], [{ concurrency: 1, maxWaiting: 2 }, { limit: 3 }])
  })
})

describe('the declared limits', () => {
  test('[F20] are stored at start, with or without a handler; the last started one of a release rules', async (t) => {
    const { queue: newQueue, storage } = clockBench(t)
    const declared = async (): Promise<unknown> => (await newQueue({ storage }).limits()).declared
    await newQueue({ limits: { concurrency: 1 } }).start()
    assert.deepEqual(await declared(), { limits: { concurrency: 1 }, release: 0 })
    await newQueue({ limits: { concurrency: 2 }, release: 2 }).start()
    // Code of an earlier release changes nothing, and uses what the later one declared.
    const old = newQueue({ limits: { concurrency: 9 }, release: 1 })
    await old.start()
    assert.deepEqual(await declared(), { limits: { concurrency: 2 }, release: 2 })
    assert.equal((await old.limits()).effective.concurrency, 2)
    // A part of the same program that declares nothing has no say; of a later one, it has.
    const silent = newQueue({ release: 2 })
    silent.execute(() => {})
    await silent.start()
    assert.deepEqual(await declared(), { limits: { concurrency: 2 }, release: 2 })
    const later = newQueue({ release: 3 })
    later.execute(() => {})
    await later.start()
    assert.equal(await declared(), undefined)
  })

  test('[F20] {} declares that there are none', async (t) => {
    const { queue: newQueue } = clockBench(t)
    await newQueue({ limits: { concurrency: 1 } }).start()
    const queue = newQueue({ limits: {} })
    await queue.start()
    assert.deepEqual((await queue.limits()).effective, {})
  })

  test('[F20] an override stays when other code declares other limits', async (t) => {
    const { queue: newQueue } = clockBench(t)
    await newQueue().setLimits({ concurrency: 7 })
    const queue = newQueue({ limits: { concurrency: 1, maxWaiting: 5 } })
    await queue.start()
    assert.deepEqual((await queue.limits()).effective, { concurrency: 7, maxWaiting: 5 })
  })
})

describe('what workers know of limits', () => {
  test('[F20] a queue without limits sends claims as before, and reads at most once per 5 s of claims', async (t) => {
    const { queue: newQueue, line, clock } = clockBench(t)
    const queue = newQueue<number>(rare)
    queue.execute(() => {})
    await queue.start()
    assert.equal(line.count('kv.get'), 1)
    for (let n = 0; n < 50; n++) {
      await queue.enqueue(`j${n}`, 1)
      await clock.advance(200)
    }
    const claims = line.calls.filter(({ verb }) => verb === 'claim')
    assert.ok(claims.length >= 50)
    for (const { args } of claims) {
      for (const type of (args[0] as ClaimRequest).types) {
        assert.deepEqual(Object.keys(type), ['type', 'leaseMs', 'maxAttempts'])
      }
    }
    assert.ok(line.count('kv.get') <= 4, `${line.count('kv.get')} reads in 10 s`)
    assert.equal(line.count('kv.set', 'kv.cas', 'pause'), 0)
  })

  test('[F20] a limit that is set applies at once, by a hint; a limit that is raised lets jobs start at once', async (t) => {
    const { queue: newQueue, clock } = clockBench(t)
    const queue = newQueue<number>({ ...rare, concurrency: 10 })
    let started = 0
    queue.execute(() => (started++, forever()))
    await queue.start()
    await queue.setLimits({ concurrency: 2 })
    for (let n = 0; n < 6; n++) await queue.enqueue(`j${n}`, 1)
    await clock.settle()
    assert.equal(started, 2)
    await queue.setLimits({ concurrency: 5 })
    await clock.settle()
    assert.equal(started, 5)
    await queue.setLimits(null)
    await clock.settle()
    assert.equal(started, 6)
  })

  test('[F20] with all hints lost, a limit applies to claims 5 s after the last read', async (t) => {
    const { queue: newQueue, line, clock } = clockBench(t)
    const queue = newQueue<number>({ ...rare, concurrency: 10, pollMs: 1_000 })
    let started = 0
    queue.execute(() => (started++, forever()))
    await queue.start()
    line.lose(({ type }) => type === 'limits.')
    await newQueue().setLimits({ concurrency: 1 })
    await clock.advance(4_000)
    await queue.enqueue('a', 1)
    await queue.enqueue('b', 1)
    await clock.settle()
    assert.equal(started, 2)
    await clock.advance(2_000)
    await queue.enqueue('c', 1)
    await clock.advance(10_000)
    assert.equal(started, 2)
  })

  test('[F20] [F34] an idle worker reads nothing, whatever its limits', async (t) => {
    const { queue: newQueue, line, clock } = clockBench(t)
    const queue = newQueue<number>({
      ...rare,
      pollMs: Infinity,
      limits: { concurrency: 2, rate: { limit: 1, perMs: 10 } },
    })
    queue.execute(() => {})
    await queue.start()
    await clock.settle()
    const before = line.count()
    await clock.advance(30_000)
    assert.deepEqual(
      line.calls.slice(before).map(({ verb }) => verb),
      [],
    )
  })

  test('[F22] [F34] a worker that waits for a rate makes no call, and is healthy', async (t) => {
    const { queue: newQueue, line, clock } = clockBench(t)
    const queue = newQueue<number>({
      ...rare,
      pollMs: Infinity,
      concurrency: 5,
      limits: { rate: { limit: 1, perMs: hour } },
    })
    let started = 0
    queue.execute(() => void started++)
    await queue.start()
    for (let n = 0; n < 3; n++) await queue.enqueue(`j${n}`, 1)
    await clock.advance(second)
    const before = line.count('claim', 'nextDueAt', 'kv.get')
    await clock.advance(30 * minute)
    assert.deepEqual([started, line.count('claim', 'nextDueAt', 'kv.get') - before], [1, 0])
    assert.deepEqual(queue.health().reasons, [])
    await clock.advance(30 * minute)
    assert.equal(started, 2)
  })

  test('[F13] limits that cannot be read: claims wait, and go on when they can be read again', async (t) => {
    const { queue: newQueue, line, clock } = clockBench(t)
    const queue = newQueue<number>({ ...rare, limits: { concurrency: 1 } })
    const errors: Error[] = []
    queue.on('error', (error) => void errors.push(error))
    let started = 0
    queue.execute(() => void started++)
    await queue.start()
    await clock.advance(10 * second)
    line.on('kv.get', failing())
    await line.storage.add([
      {
        type: 'queue.default',
        id: 'a',
        token: 't',
        payload: Buffer.from('1'),
        retention: { completedMs: 1, failedMs: 1, cancelledMs: 1 },
      },
    ])
    await clock.advance(second)
    assert.equal(started, 0)
    assert.ok(errors.length > 0)
    line.on('kv.get', undefined)
    await clock.advance(10 * second)
    assert.equal(started, 1)
  })
})
