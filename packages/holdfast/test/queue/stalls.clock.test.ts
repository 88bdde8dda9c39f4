// Caps and leases, to the millisecond.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AttemptAbortedError, Job, Queue, Storage } from 'holdfast'
import { clockBench } from './clock-bench.ts'
import { failing } from './faulty-storage.ts'
import { defaultType } from 'holdfast/storage'

const endless = (): Promise<never> => new Promise(() => {})
const codeOf = (job: Job<unknown> | undefined): string | undefined =>
  (job?.signal.reason as AttemptAbortedError | undefined)?.code

async function leaseOf(storage: Storage, id: string): Promise<number | undefined> {
  const [record] = await storage.get([{ type: defaultType, id }])
  return record?.leaseUntil
}

/** The jobs that its handler was given; it never ends. */
function neverEnding(queue: Queue<unknown, unknown>): Job<unknown>[] {
  const jobs: Job<unknown>[] = []
  queue.execute((job) => {
    jobs.push(job)
    void job.signal
    return endless()
  })
  return jobs
}

describe('caps and leases', () => {
  test('[Q4.37] the signal aborts at visibilityTimeout, not before; the next attempt begins at once', async (t) => {
    const { queue: newQueue, to } = clockBench(t)
    const queue = newQueue({ visibilityTimeout: 45_000, leaseMs: 10_000 })
    const jobs = neverEnding(queue)
    await queue.start()
    await queue.enqueue('a', 1)
    await to(44_999)
    assert.deepEqual([jobs.length, jobs[0]!.signal.aborted], [1, false])
    await to(45_000)
    assert.deepEqual([jobs.length, codeOf(jobs[0]), jobs[1]?.attempts], [2, 'ATTEMPT_TIMEOUT', 2])
    assert.equal(jobs[1]!.signal.aborted, false)
  })

  test('[Q4.37] [Q4.40] each attempt has the whole time, and the last one ends the job', async (t) => {
    const { queue: newQueue, to } = clockBench(t)
    const queue = newQueue({ visibilityTimeout: 1_000, maxRetries: 3 })
    const jobs = neverEnding(queue)
    const said: string[] = []
    for (const event of ['stalled', 'failing', 'failed', 'fenced', 'error'] as const)
      queue.on(event, () => said.push(event))
    await queue.start()
    await queue.enqueue('a', 1)
    await to(2_999)
    assert.deepEqual([jobs.length, said], [3, ['stalled', 'stalled']])
    await to(3_000)
    assert.deepEqual(said, ['stalled', 'stalled', 'stalled', 'failed'])
    await to(60_000)
    assert.equal(jobs.length, 3)
    assert.deepEqual(said, ['stalled', 'stalled', 'stalled', 'failed'])
  })

  test('[Q4.37] [trap 17] with free slots, on a slow line, it gives up before its lease ends: stalled once, nothing fenced', async (t) => {
    const { queue: newQueue, clock, line, to } = clockBench(t)
    const queue = newQueue({ visibilityTimeout: 1_000, leaseMs: 1_000, maxRetries: 2, concurrency: 5 })
    const jobs = neverEnding(queue)
    const said: string[] = []
    for (const event of ['stalled', 'failed', 'fenced', 'error'] as const) queue.on(event, () => said.push(event))
    await queue.start()
    line.on('claim', async (apply) => {
      const claim = await apply()
      await new Promise<void>((resolve) => void clock.after(20, resolve))
      return claim
    })
    await queue.enqueue('a', 1)
    await to(5_000)
    assert.deepEqual(said, ['stalled', 'stalled', 'failed'])
    assert.equal(jobs.length, 2)
  })

  test('[Q4.37] the time of afterExecution counts', async (t) => {
    const { queue: newQueue, to } = clockBench(t)
    const queue = newQueue({ visibilityTimeout: 1_000, maxRetries: 1, afterExecution: endless })
    queue.execute(() => 'done')
    await queue.start()
    await queue.enqueue('a', 1)
    await to(999)
    assert.equal((await queue.getStatus('a'))?.state, 'processing')
    await to(1_000)
    assert.equal((await queue.getStatus('a'))?.error?.code, 'STALLED')
  })

  for (const [leaseMs, visibilityTimeout] of [
    [30_000, 500],
    [2_000, 3_600_000],
  ] as const) {
    test(`[Q4.38] a killed worker's job is free after min(${leaseMs}, ${visibilityTimeout}) ms`, async (t) => {
      const { queue: newQueue, storage, clock, now, to, line } = clockBench(t)
      const expected = Math.min(leaseMs, visibilityTimeout)
      const killed = newQueue({ leaseMs, visibilityTimeout })
      neverEnding(killed)
      killed.on('error', () => {})
      await killed.start()
      await killed.enqueue('a', 1)
      await clock.settle()
      assert.equal(await leaseOf(storage, 'a'), clock.now() + expected)
      line.cut()
      const other = newQueue({ storage, leaseMs: 60_000, blockTimeout: 60 })
      const startedAt: number[] = []
      other.execute(() => startedAt.push(now()))
      await other.start()
      await to(expected - 1)
      assert.deepEqual(startedAt, [])
      await to(expected)
      assert.deepEqual(startedAt, [expected])
    })
  }

  test('[Q4.38] an idle worker whose wait began before the other took the job still finds it at the end of the lease', async (t) => {
    const { queue: newQueue, storage, line, now, to } = clockBench(t)
    line.lose(() => true)
    const idle = newQueue({ leaseMs: 10_000, pollMs: 3_600_000 })
    const startedAt: number[] = []
    idle.execute(() => startedAt.push(now()))
    await idle.start()
    await to(1_000)
    const retention = { completedMs: 1_000, failedMs: 1_000, cancelledMs: 1_000 }
    await storage.add([{ type: defaultType, id: 'a', token: 'a', retention, maxAttempts: 3 }])
    await storage.claim({ worker: 'dead/1', slots: 1, types: [{ type: defaultType, leaseMs: 10_000 }] })
    await to(10_999)
    assert.deepEqual(startedAt, [])
    // It wakes at fractions of a millisecond.
    await to(11_001)
    assert.deepEqual(startedAt, [11_000])
  })

  test('[Q4.38] heartbeats every third of the lease keep it, never past the cap', async (t) => {
    const { queue: newQueue, storage, clock, line, to } = clockBench(t)
    const queue = newQueue({ leaseMs: 3_000, visibilityTimeout: 10_000 })
    neverEnding(queue)
    const start = clock.now()
    await queue.start()
    await queue.enqueue('a', 1)
    await clock.settle()
    const seen: number[] = []
    for (let at = 0; at < 10_000; at += 1_000) {
      await to(at)
      seen.push((await leaseOf(storage, 'a'))! - start)
    }
    assert.deepEqual(seen, [3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000, 10_000, 10_000])
    assert.equal(line.count('extend'), 9)
  })

  test('[Q4.38] one heartbeat for all jobs of a worker', async (t) => {
    const { queue: newQueue, line, to } = clockBench(t)
    const queue = newQueue({ leaseMs: 3_000, visibilityTimeout: 60_000, concurrency: 20 })
    neverEnding(queue)
    await queue.start()
    await Promise.all(Array.from({ length: 20 }, (_, index) => queue.enqueue(`job ${index}`, 1)))
    await to(3_500)
    const sizes = line.calls.filter(({ verb }) => verb === 'extend').map(({ args }) => (args[0] as unknown[]).length)
    assert.deepEqual(sizes, [20, 20, 20])
  })

  test('[Q4.38] [trap 20] a long healthy job runs once, while other workers and a Reaper with a long limit watch', async (t) => {
    const { queue: newQueue, reaper: newReaper, clock, now, to } = clockBench(t)
    const config = { leaseMs: 1_000, visibilityTimeout: 3_600_000 }
    const [one, other, third] = [newQueue(config), newQueue(config), newQueue(config)]
    const reaper = newReaper({ visibilityTimeout: 3_600_000 })
    const runs: number[] = []
    const said: string[] = []
    for (const queue of [one, other, third]) {
      queue.execute(async () => {
        runs.push(now())
        await new Promise<void>((resolve) => void clock.after(50_000, resolve))
        return 'done'
      })
      for (const event of ['stalled', 'fenced', 'failing', 'error'] as const) queue.on(event, () => said.push(event))
    }
    reaper.on('stalled', () => said.push('reaped'))
    await Promise.all([one.start(), other.start(), third.start(), reaper.start()])
    await one.enqueue('a', 1)
    await to(49_999)
    assert.equal((await one.getStatus('a'))?.state, 'processing')
    await to(50_000)
    assert.equal((await one.getStatus('a'))?.state, 'completed')
    assert.deepEqual([runs, said], [[0], []])
  })

  for (const leaseMs of [3_000, 3_500, 20_000]) {
    test(`[Q4.39] an outage: signals abort when the lease of ${leaseMs} ms ends, not before`, async (t) => {
      const { queue: newQueue, line, to } = clockBench(t)
      const queue = newQueue({ leaseMs, visibilityTimeout: 3_600_000 })
      const errors: Error[] = []
      queue.on('error', (error) => errors.push(error))
      const jobs = neverEnding(queue)
      await queue.start()
      await queue.enqueue('a', 1)
      line.on('extend', failing())
      await to(leaseMs - 1)
      assert.equal(jobs[0]!.signal.aborted, false)
      assert.ok(errors.length > 0)
      await to(leaseMs)
      assert.equal(codeOf(jobs[0]), 'LEASE_LOST')
    })
  }

  test('[Q4.39] the lease counts from when it was asked for, however late the answer came', async (t) => {
    const { queue: newQueue, clock, line, to } = clockBench(t)
    const queue = newQueue({ leaseMs: 3_000, visibilityTimeout: 3_600_000 })
    queue.on('error', () => {})
    const jobs = neverEnding(queue)
    await queue.start()
    line.on('extend', failing())
    line.on('claim', async (apply) => {
      const claim = await apply()
      await new Promise<void>((resolve) => void clock.after(500, resolve))
      return claim
    })
    await queue.enqueue('a', 1)
    await to(2_999)
    assert.equal(jobs[0]!.signal.aborted, false)
    await to(3_000)
    assert.equal(codeOf(jobs[0]), 'LEASE_LOST')
  })

  test('[Q4.39] also when the storage does not answer at all; the outcome is sent when it does', async (t) => {
    const { queue: newQueue, line, clock, to } = clockBench(t)
    const queue = newQueue({ leaseMs: 6_000, visibilityTimeout: 3_600_000 })
    queue.on('error', () => {})
    let signal: AbortSignal | undefined
    queue.execute(async (job) => {
      signal = job.signal
      await new Promise<void>((resolve) => void clock.after(8_000, resolve))
      return 'done'
    })
    await queue.start()
    await queue.enqueue('a', 1)
    await clock.settle()
    line.cut()
    await to(5_999)
    assert.equal(signal?.aborted, false)
    await to(6_000)
    assert.equal((signal?.reason as AttemptAbortedError | undefined)?.code, 'LEASE_LOST')
    await to(20_000)
    line.mend()
    await to(40_000)
    const status = await queue.getStatus('a')
    assert.deepEqual([status?.state, status?.result, status?.attempts], ['completed', 'done', 1])
  })

  test('[Q4.20] a lost hint: the signal aborts with the next heartbeat', async (t) => {
    const { queue: newQueue, line, to } = clockBench(t)
    const queue = newQueue({ leaseMs: 30_000, visibilityTimeout: 3_600_000 })
    line.lose(({ kind }) => kind === 'abort')
    const jobs = neverEnding(queue)
    await queue.start()
    await queue.enqueue('a', 1)
    await to(12_000)
    await queue.cancel('a', { abort: true })
    await to(19_999)
    assert.equal(jobs[0]!.signal.aborted, false)
    await to(20_000)
    assert.equal(codeOf(jobs[0]), 'JOB_CANCELLED')
  })

  test('[Q4.20] with the hint it needs no time', async (t) => {
    const { queue: newQueue, clock, to } = clockBench(t)
    const [queue, other] = [newQueue({ leaseMs: 30_000 }), newQueue()]
    const jobs = neverEnding(queue)
    await queue.start()
    await queue.enqueue('a', 1)
    await to(5)
    await other.cancel('a', { abort: true })
    await clock.settle()
    assert.equal(codeOf(jobs[0]), 'JOB_CANCELLED')
  })
})
