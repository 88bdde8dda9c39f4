// When stop() does what, and that it always ends.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type AttemptAbortedError, type Job, MemoryStorage } from 'holdfast'
import { clockBench, fate } from './clock-bench.ts'
import { closable } from './closable-storage.ts'
import { faulty } from './faulty-storage.ts'
import { defaultType } from 'holdfast/storage'

describe('stop, to the millisecond', () => {
  for (const [timeout, releaseAt] of [
    [1_000, 1_500],
    [100, 200],
    [0, 0],
  ] as const) {
    test(`[Q4.41] timeout ${timeout}: abort then, release at ${releaseAt}`, async (t) => {
      const { queue: newQueue, storage, now, clock, to } = clockBench(t)
      const queue = newQueue()
      const said: unknown[] = []
      queue.execute((job) => {
        job.signal.addEventListener('abort', () => {
          said.push([now(), (job.signal.reason as AttemptAbortedError).code])
        })
        return new Promise(() => {})
      })
      queue.on('requeued', () => said.push([now(), 'requeued']))
      queue.on('stopped', () => said.push([now(), 'stopped']))
      await queue.start()
      await queue.enqueue('a', 1)
      await clock.settle()
      const stopped = fate(queue.stop({ timeout }))
      await to(10_000)
      assert.deepEqual(said, [
        [timeout, 'STOPPING'],
        [releaseAt, 'requeued'],
        [releaseAt, 'stopped'],
      ])
      assert.equal(stopped.state, 'fulfilled')
      const [record] = await storage.get([{ type: defaultType, id: 'a' }])
      assert.deepEqual([record?.state, record?.failures], ['queued', 0])
    })
  }

  test('[Q4.41] a handler that ends during the grace period is waited for, and no longer', async (t) => {
    const { queue: newQueue, now, clock, to } = clockBench(t)
    const queue = newQueue({ concurrency: 3 })
    queue.execute(async (job) => {
      await new Promise<void>((resolve) => void clock.after(job.payload as number, resolve))
    })
    const said: unknown[] = []
    queue.on('completed', (id) => said.push([now(), id]))
    queue.on('stopped', () => said.push([now(), 'stopped']))
    await queue.start()
    for (const ms of [300, 700, 1_200]) await queue.enqueue(`in ${ms}`, ms)
    await clock.settle()
    const stopped = fate(queue.stop({ timeout: 1_000 }))
    await to(5_000)
    assert.equal(stopped.state, 'fulfilled')
    // The last one was aborted at 1000, and ended in the time after that.
    assert.deepEqual(said, [
      [300, 'in 300'],
      [700, 'in 700'],
      [1_200, 'in 1200'],
      [1_200, 'stopped'],
    ])
  })

  test('[trap 23] an idle queue needs no time to stop', async (t) => {
    const { queue: newQueue, reaper: newReaper, clock } = clockBench(t)
    const [queue, producer, reaper] = [newQueue(), newQueue(), newReaper()]
    queue.execute(() => 1)
    await Promise.all([queue.start(), producer.start(), reaper.start()])
    await clock.advance(12_345)
    const stopped = [queue.stop(), producer.stop(), reaper.stop()].map(fate)
    await clock.settle()
    assert.deepEqual(
      stopped.map(({ state }) => state),
      ['fulfilled', 'fulfilled', 'fulfilled'],
    )
  })

  test('[Q4.41] [trap 37] nothing is left behind: no timer, no listener, no connection', async (t) => {
    const { queue: newQueue, reaper: newReaper, clock, line } = clockBench(t)
    const queue = newQueue({ concurrency: 4 })
    queue.execute((job) => {
      if (job.payload === 'bad') throw new Error('again')
      return job.payload === 'endless' ? new Promise(() => {}) : 'done'
    })
    const reaper = newReaper({ leaderElection: { enabled: true } })
    await Promise.all([queue.start(), reaper.start()])
    const stream = queue.events()
    await stream.ready
    const waits = ['good', 'bad', 'endless'].map((payload) => fate(queue.enqueueAndWait(payload, payload)))
    const delayed = fate(queue.enqueueAndWait('delayed', 1, { delayMs: 60_000, timeout: Infinity }))
    await clock.advance(2_000)
    assert.ok(clock.pending > 0)
    const stopped = Promise.all([queue.stop({ timeout: 50 }), reaper.stop()])
    await clock.advance(200)
    await stopped
    assert.deepEqual(
      waits.map(({ state }) => state),
      ['fulfilled', 'rejected', 'rejected'],
    )
    assert.equal((delayed.error as { code?: string }).code, 'QUEUE_STOPPED')
    assert.deepEqual([clock.pending, line.connections], [0, 0])
    assert.equal(line.count('unlisten'), line.count('listen'))
    const calls = line.count()
    await clock.advance(3_600_000)
    assert.equal(line.count(), calls)
  })

  test('[§3] stop, start, stop at once, while a handler runs: stopped in the end, and nothing is left that works', async (t) => {
    const { queue: newQueue, storage, line, clock } = clockBench(t)
    const queue = newQueue()
    const runs: string[] = []
    queue.execute(async (job) => {
      runs.push(job.id)
      await new Promise<void>((resolve) => void clock.after(300, resolve))
    })
    await queue.start()
    await queue.enqueue('a', 1)
    await clock.settle()
    const ends = [queue.stop(), queue.start(), queue.stop()].map(fate)
    await clock.advance(300)
    assert.deepEqual(
      ends.map(({ state }) => state),
      ['fulfilled', 'fulfilled', 'fulfilled'],
    )
    assert.deepEqual([clock.pending, line.connections], [0, 0])
    assert.equal(line.count('unlisten'), line.count('listen'))
    const calls = line.count()
    // Past the line, so that only what was stopped would be heard on it.
    await newQueue({ storage }).enqueue('b', 1)
    await clock.advance(3_600_000)
    assert.equal(line.count(), calls)
    assert.deepEqual(runs, ['a'])
  })

  for (const busy of [false, true]) {
    test(`[trap 23] a storage that does not answer: stopped within timeout + 5.5 s, ${busy ? 'busy' : 'idle'}`, async (t) => {
      const { queue: newQueue, line, clock, now } = clockBench(t)
      const queue = newQueue({ concurrency: 2 })
      queue.on('error', () => {})
      const jobs: Job<unknown>[] = []
      queue.execute((job) => {
        jobs.push(job)
        void job.signal
        return new Promise(() => {})
      })
      await queue.start()
      if (busy) await queue.enqueue('a', 1)
      await queue.events().ready
      await clock.advance(10)
      const waits = [
        fate(queue.enqueueAndWait('a', 1, { timeout: Infinity })),
        fate(queue.enqueueAndWait('z', 1, { timeout: Infinity, delayMs: 99_999 })),
      ]
      await clock.advance(10)
      line.cut()
      // A claim is under way that will never be answered.
      await clock.advance(6_000)
      const before = now()
      let stoppedAt: number | undefined
      const stopped = queue.stop({ timeout: 1_000 }).then(() => (stoppedAt = now()))
      await clock.advance(7_000)
      assert.notEqual(stoppedAt, undefined, 'it did not stop')
      assert.ok(stoppedAt! - before <= 6_500, `after ${stoppedAt! - before} ms`)
      if (busy) assert.equal((jobs[0]!.signal.reason as AttemptAbortedError).code, 'STOPPING')
      for (const wait of waits) assert.equal((wait.error as { code?: string } | undefined)?.code, 'QUEUE_STOPPED')
      await stopped
      await clock.advance(10_000)
      assert.equal(clock.pending, 0)
    })
  }

  test('[trap 23] stop during a start that is not answered ends in time, and ends the retries of that start', async (t) => {
    const { queue: newQueue, line, clock, now } = clockBench(t)
    line.cut()
    const queue = newQueue()
    queue.execute(() => 1)
    const started = fate(queue.start())
    let stoppedAt: number | undefined
    const stopped = queue.stop({ timeout: 0 }).then(() => (stoppedAt = now()))
    await clock.advance(6_000)
    assert.equal(started.state, 'fulfilled')
    assert.ok(stoppedAt! <= 5_500, `after ${stoppedAt} ms`)
    await stopped
    line.mend()
    await queue.start()
    assert.deepEqual(await queue.enqueue('a', 1), { status: 'queued' })
  })

  test('[§3] start, stop, start, while the first connect takes longer than a stop waits: started once, and connected', async (t) => {
    const { queue: newQueue, clock } = clockBench(t)
    const line = faulty(closable(new MemoryStorage({ clock, callTimeoutMs: 20_000 })).storage)
    line.on('connect', async (apply, { number }) => {
      if (number === 1) await new Promise<void>((resolve) => void clock.after(8_000, resolve))
      return apply()
    })
    const queue = newQueue({ storage: line.storage })
    const said: string[] = []
    for (const event of ['started', 'stopped', 'error'] as const) queue.on(event, () => said.push(event))
    queue.execute((job) => job.id)
    const ends = [queue.start(), queue.stop(), queue.start()].map(fate)
    await clock.advance(15_000)
    assert.deepEqual(
      ends.map(({ state }) => state),
      ['fulfilled', 'fulfilled', 'fulfilled'],
    )
    assert.deepEqual([said, line.connections], [['stopped', 'started'], 1])
    const done = fate(queue.enqueueAndWait('a', 1))
    await clock.advance(1_000)
    assert.equal(done.value, 'a')
    const stopped = fate(queue.stop())
    await clock.advance(1_000)
    assert.deepEqual([stopped.state, line.connections], ['fulfilled', 0])
  })

  test('[§3] a start that is given up and connects after all gives its connection back', async (t) => {
    const { queue: newQueue, clock } = clockBench(t)
    const line = faulty(new MemoryStorage({ clock, callTimeoutMs: 20_000 }))
    line.on('connect', async (apply) => {
      await new Promise<void>((resolve) => void clock.after(8_000, resolve))
      return apply()
    })
    const queue = newQueue({ storage: line.storage })
    const said: string[] = []
    for (const event of ['started', 'stopped', 'error'] as const) queue.on(event, () => said.push(event))
    const ends = [queue.start(), queue.stop()].map(fate)
    await clock.advance(15_000)
    assert.deepEqual(
      ends.map(({ state }) => state),
      ['fulfilled', 'fulfilled'],
    )
    assert.deepEqual([said, line.count('connect'), line.connections], [['stopped'], 1, 0])
  })

  test('[§3] a first start that fails takes nothing from the one after it', async (t) => {
    const { queue: newQueue, line, clock } = clockBench(t)
    line.on('connect', async (apply, { number }) => {
      if (number > 1) return apply()
      await new Promise<void>((resolve) => void clock.after(1_000, resolve))
      throw new Error('no')
    })
    const queue = newQueue()
    queue.execute((job) => job.id)
    const ends = [queue.start(), queue.stop(), queue.start()].map(fate)
    await clock.advance(2_000)
    assert.deepEqual(
      ends.map(({ state }) => state),
      ['rejected', 'fulfilled', 'fulfilled'],
    )
    let started = 0
    queue.on('started', () => void started++)
    await queue.start()
    assert.deepEqual([started, line.connections], [0, 1])
  })
})
