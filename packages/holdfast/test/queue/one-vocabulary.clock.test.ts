// What every face has in the same words: life-cycle, snooze() and fail(), aliases, defaults, and the logger.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fail, MemoryStorage, Queue, snooze, StorageError } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { clockBench, fate } from './clock-bench.ts'

const after = (ms: number, clock: { after(ms: number, run: () => void): unknown }): Promise<void> =>
  new Promise((resolve) => void clock.after(ms, resolve))

/** A storage whose first connects fail. */
function unavailable(storage: MemoryStorage, failures: Error[]): MemoryStorage {
  const connect = storage.connect.bind(storage)
  storage.connect = async () => {
    const failure = failures.shift()
    if (failure) throw failure
    await connect()
  }
  return storage
}

const refused = (): Error =>
  new StorageError('cannot open it', {
    cause: Object.assign(new Error('no'), { code: 'ECONNREFUSED' }),
    maybeApplied: false,
  })

describe('defaults', () => {
  test('a job of 45 s runs once with the defaults, and completes', async (t) => {
    const clock = fakeClock()
    const storage = new MemoryStorage({ clock })
    const queues = [1, 2].map(() => new Queue<number, string>({ storage, clock }))
    t.after(async () => {
      const stopped = Promise.all(queues.map((queue) => queue.stop()))
      await clock.advance(60_000)
      await stopped
    })
    let runs = 0
    for (const queue of queues) {
      queue.execute(async () => {
        runs++
        await after(45_000, clock)
        return 'done'
      })
      await queue.start()
    }
    await queues[0]!.enqueue('long', 1)
    await clock.advance(44_999)
    assert.equal((await queues[0]!.getStatus('long'))?.state, 'processing')
    await clock.advance(60_000)
    assert.equal(await queues[0]!.getResult('long'), 'done')
    assert.equal(runs, 1)
  })

  for (const [what, config, kept] of [
    ['without options', {}, { completed: 3_600_000, failed: 14 * 86_400_000, cancelled: 86_400_000 }],
    ['with resultTTL', { resultTTL: 5_000 }, { completed: 5_000, failed: 5_000, cancelled: 5_000 }],
    [
      'with retention over resultTTL',
      { resultTTL: 5_000, retention: { failed: { ageMs: 9_000 } } },
      { completed: 5_000, failed: 9_000, cancelled: 5_000 },
    ],
  ] as const) {
    test(`how long records are kept, ${what}`, async (t) => {
      const { queue: newQueue } = clockBench(t)
      const queue = newQueue({ ...config, maxAttempts: 1 })
      queue.execute((job) => (job.id === 'failed' ? fail('no') : 'yes'))
      await queue.enqueue('cancelled', 1, { delayMs: 1_000 })
      await queue.cancel('cancelled')
      await queue.start()
      await Promise.allSettled(['completed', 'failed'].map((id) => queue.enqueueAndWait(id, 1)))
      for (const [end, ms] of Object.entries(kept)) {
        const status = await queue.getStatus(end)
        assert.equal(status?.state, end)
        assert.equal(status.expiresAt! - status.finishedAt!, ms, end)
      }
    })
  }
})

describe('snooze() and fail()', () => {
  for (const how of ['returned', 'thrown'] as const) {
    test(`${how}: a snooze puts the job off and costs no attempt; fail() ends it`, async (t) => {
      const { queue: newQueue, to, now } = clockBench(t)
      const queue = newQueue<string, string>({ maxAttempts: 2 })
      const released: string[] = []
      queue.on('released', (id) => released.push(id))
      const starts: number[] = []
      queue.execute((job) => {
        starts.push(now())
        const directive = starts.length <= 3 ? snooze({ delayMs: 1_000 }) : fail(new Error('for good'))
        assert.equal(job.attempts, 1)
        if (how === 'thrown') throw directive
        return directive
      })
      await queue.start()
      const waiting = fate(queue.enqueueAndWait('a', 'x', { timeout: Infinity }))
      await to(10_000)
      assert.deepEqual(starts, [0, 1_000, 2_000, 3_000])
      assert.deepEqual(released, ['a', 'a', 'a'])
      assert.equal(waiting.state, 'rejected')
      assert.match((waiting.error as Error).message, /for good/)
      assert.equal((await queue.getStatus('a'))?.attempts, 1)
    })
  }

  test('snooze by runAt; a bad one is refused', async (t) => {
    const { queue: newQueue, to, clock, now } = clockBench(t)
    const queue = newQueue<string, string>()
    const starts: number[] = []
    queue.execute(() => {
      starts.push(now())
      return starts.length === 1 ? snooze({ runAt: new Date(clock.now() + 7_000) }) : 'done'
    })
    await queue.start()
    await queue.enqueue('a', 'x')
    await to(10_000)
    assert.deepEqual(starts, [0, 7_000])
    for (const bad of [{}, { delayMs: 1, runAt: 1 }, { delayMs: -1 }, { delay: 5 }, undefined]) {
      assert.throws(() => snooze(bad as { delayMs: number }), { code: 'INVALID_ARGUMENT' })
    }
  })
})

describe('life-cycle', () => {
  test('start() retries while the storage is unavailable, with an error event each time, and resolves when ready', async (t) => {
    const { storage, queue: newQueue, to } = clockBench(t)
    const queue = newQueue({ storage: unavailable(storage, [refused(), refused(), refused()]) })
    const errors: Error[] = []
    queue.on('error', (error) => errors.push(error))
    queue.execute(() => 'done')
    const started = fate(queue.start())
    await to(10)
    assert.equal(started.state, 'pending')
    await to(5_000)
    assert.equal(started.state, 'fulfilled')
    assert.equal(errors.length, 3)
    assert.equal(await queue.enqueueAndWait('a', 1), 'done')
  })

  test('start() rejects with what time cannot mend, and the next start begins anew', async (t) => {
    const { storage, queue: newQueue } = clockBench(t)
    const wrong = new StorageError('wrong password', { cause: new Error('28P01'), maybeApplied: false })
    const queue = newQueue({ storage: unavailable(storage, [wrong]) })
    await assert.rejects(queue.start(), wrong)
    await queue.start()
  })

  test('stop() ends the retries of a start', async (t) => {
    const { storage, queue: newQueue, to } = clockBench(t)
    const queue = newQueue({ storage: unavailable(storage, Array.from({ length: 100 }, refused)) })
    queue.on('error', () => {})
    const started = fate(queue.start())
    await to(1_000)
    const stopped = fate(queue.stop())
    await to(1_001)
    assert.deepEqual([started.state, stopped.state], ['fulfilled', 'fulfilled'])
  })

  test('run() resolves once the queue was stopped, by stop() or by its signal', async (t) => {
    const { queue: newQueue, to } = clockBench(t)
    const [one, other] = [newQueue(), newQueue()]
    const abort = new AbortController()
    const [running, signalled] = [fate(one.run()), fate(other.run({ signal: abort.signal, graceMs: 0 }))]
    await to(100)
    assert.deepEqual([running.state, signalled.state], ['pending', 'pending'])
    void one.stop()
    abort.abort()
    await to(200)
    assert.deepEqual([running.state, signalled.state], ['fulfilled', 'fulfilled'])
    await other.run({ signal: AbortSignal.abort() })
  })

  test('a queue can be declared with `await using`', async (t) => {
    const { queue: newQueue } = clockBench(t)
    const events: string[] = []
    {
      await using queue = newQueue()
      queue.on('stopped', () => events.push('stopped'))
      await queue.start()
    }
    assert.deepEqual(events, ['stopped'])
  })
})

test('aliases: the seed’s names and ours give the same queue; blockTimeout in milliseconds is refused', async (t) => {
  const { queue: newQueue, clock } = clockBench(t)
  for (const config of [
    { maxRetries: 1, visibilityTimeout: 50 },
    { maxAttempts: 1, timeoutMs: 50 },
  ]) {
    const queue = newQueue({ name: JSON.stringify(config), ...config })
    queue.execute(() => new Promise(() => {}))
    await queue.start()
    const waiting = fate(queue.enqueueAndWait('a', 1))
    await clock.advance(1_000)
    assert.equal((waiting.error as { details?: { code?: string } }).details?.code, 'STALLED')
    await queue.stop({ timeout: 0 })
  }
  assert.throws(() => newQueue({ blockTimeout: 5_000 }), {
    message: /blockTimeout: expected seconds, below 1000 \(did you mean pollMs, in ms\?\)/,
  })
  assert.throws(() => newQueue({ maxRetries: 1, maxAttempts: 1 }), {
    message: /either maxAttempts or its alias maxRetries/,
  })
})

test('the logger receives start, stop, failures, stalls and lost connections at their levels', async (t) => {
  const { queue: newQueue, line, to } = clockBench(t)
  const entries: string[] = []
  const at = (level: string) => (_data: object, message: string) => void entries.push(`${level} ${message}`)
  const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const queue = newQueue({ logger, maxAttempts: 2, timeoutMs: 1_000 })
  queue.on('error', () => {})
  queue.execute((job) => (job.id === 'stuck' ? new Promise(() => {}) : Promise.reject(new Error('no'))))
  await queue.start()
  await queue.enqueue('bad', 1)
  await to(10)
  await queue.enqueue('stuck', 1, { maxAttempts: 1 })
  await to(3_000)
  line.cut()
  await to(20_000)
  line.mend()
  await to(40_000)
  const stopped = queue.stop()
  await to(60_000)
  await stopped
  for (const pattern of [
    /^info queue 'default': worker started$/,
    /^warn queue 'default': job 'bad' failed attempt 1 and is retried$/,
    /^error queue 'default': job 'bad' failed for good after 2 attempts$/,
    /^warn queue 'default': job 'stuck' stalled/,
    /^warn queue 'default': the memory storage does not answer/,
    /^info queue 'default': the memory storage answers again after \d+ ms$/,
    /^info queue 'default': worker stopped$/,
  ]) {
    assert.ok(
      entries.some((entry) => pattern.test(entry)),
      `${pattern}\n${entries.join('\n')}`,
    )
  }
})
