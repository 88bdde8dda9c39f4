// Retries, leases, polls and stops of chains on a fake clock.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type MemoryStorage } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes, rescheduleJob } from 'holdfast/chains'
import { fakeClock } from 'holdfast/testing'
import { until } from '../queue/driver.ts'
import { failing, faulty } from '../queue/faulty-storage.ts'
import { clockBench } from './clock-bench.ts'

interface Types {
  step: { entry: true; input: number; output: number }
  group: { entry: true; input: null; output: number[]; blockers: { typeName: 'step' }[] }
}
const types = defineJobTypes<Types>()

const boom = async (): Promise<never> => {
  throw new Error('boom')
}

async function runAtOf(storage: MemoryStorage, id: string): Promise<number> {
  return (await storage.get([{ type: 'chain.step', id }]))[0]!.runAt
}

test('[chains trap 17] jitter 0 gives the exact series: 10 s, 20, 40, 80, 160, 300, 300', async (t) => {
  const { client, clock, storage, work } = await clockBench(t, types)
  await work({ step: { process: boom, retryConfig: { jitter: 0 } } })
  const { id } = await client.startJobChain({ typeName: 'step', input: 1 })
  await clock.settle()
  for (const delay of [10, 20, 40, 80, 160, 300, 300]) {
    const due = await runAtOf(storage, id)
    assert.equal(due - clock.now(), delay * 1_000)
    await clock.advance(delay * 1_000)
  }
})

test('[chains trap 17] a thousand failures in one tick are spread, and none is past the delay', async (t) => {
  const { client, clock, storage, work } = await clockBench(t, types)
  await work({ step: { process: boom } }, { concurrency: 1_000 })
  const chains = await client.startJobChains({
    items: Array.from({ length: 1_000 }, (_, input) => ({ typeName: 'step' as const, input })),
  })
  await clock.settle()
  const now = clock.now()
  const due = await Promise.all(chains.map(({ id }) => runAtOf(storage, id)))
  assert.ok(Math.max(...due) - Math.min(...due) >= 1_000)
  assert.ok(due.every((at) => at >= now + 8_000 && at <= now + 10_000))
})

test('[chains trap 16] ten reschedules do not raise the backoff', async (t) => {
  const { client, clock, storage, work } = await clockBench(t, types)
  await work({
    step: {
      process: async ({ job }) => {
        if (job.attempt <= 10) rescheduleJob({ afterMs: 1_000 })
        throw new Error('boom')
      },
      retryConfig: { jitter: 0 },
    },
  })
  const { id } = await client.startJobChain({ typeName: 'step', input: 1 })
  await clock.settle()
  assert.equal((await client.getJob({ typeName: 'step', id }))!.state, 'scheduled')
  await clock.advance(10_000)
  const job = await client.getJob({ typeName: 'step', id })
  assert.deepEqual([job!.attempt, job!.failures, job!.state], [11, 1, 'failing'])
  assert.equal((await runAtOf(storage, id)) - clock.now(), 10_000)
})

test('[chains trap 8] a middleware that always throws backs off: one attempt in a second', async (t) => {
  const { client, clock, work } = await clockBench(t, types)
  let attempts = 0
  await work(
    { step: { process: async ({ complete }) => complete(1) } },
    {
      jobTypeProcessing: {
        jobAttemptMiddlewares: [
          async () => {
            attempts++
            throw new Error('mine')
          },
        ],
      },
    },
  )
  const { id } = await client.startJobChain({ typeName: 'step', input: 1 })
  await clock.advance(1_000)
  const job = await client.getJob({ typeName: 'step', id })
  assert.deepEqual([attempts, job!.state, job!.failures], [1, 'failing', 1])
})

test('configs are merged field by field: the type over the worker over the defaults', async (t) => {
  const { client, clock, storage, work } = await clockBench(t, types)
  await work(
    { step: { process: boom, retryConfig: { initialDelayMs: 30_000, maxDelayMs: 600_000 } } },
    { jobTypeProcessing: { defaultRetryConfig: { jitter: 0, initialDelayMs: 1 } } },
  )
  const { id } = await client.startJobChain({ typeName: 'step', input: 1 })
  await clock.settle()
  for (const delay of [30, 60, 120, 240, 480, 600]) {
    assert.equal((await runAtOf(storage, id)) - clock.now(), delay * 1_000)
    await clock.advance(delay * 1_000)
  }
})

test('[chains trap 5] a saturated worker is quiet, an idle one silent', async (t) => {
  const { client, clock, line, work } = await clockBench(t, types)
  await work({
    step: {
      process: async ({ complete }) => {
        await new Promise<void>((resolve) => void clock.after(3_000, resolve))
        return complete(1)
      },
    },
  })
  await client.startJobChain({ typeName: 'step', input: 1 })
  await clock.settle()
  await client.startJobChain({ typeName: 'step', input: 2 })
  const busy = line.count()
  await clock.advance(2_900)
  assert.ok(line.count() - busy <= 3, `${line.count() - busy} calls while busy`)
  // Both have run, and what the worker counted of them is written: 10 s after the first.
  await clock.advance(20_000)
  const idle = line.count()
  await clock.advance(10_000)
  assert.equal(line.count() - idle, 0)
})

test('[chains trap 9] a dead worker is recovered within its lease and 1 s, without hints, whatever the poll', async (t) => {
  for (const sleptBefore of [false, true]) {
    const { client, clock, line, storage, work } = await clockBench(t, types)
    line.lose(() => true)
    const leaseConfig = { leaseMs: 2_000, renewIntervalMs: 900 }
    const runs: number[] = []
    const start = async (): Promise<unknown> =>
      work({
        step: {
          leaseConfig,
          process: async ({ job, complete }) => {
            runs.push(job.attempt)
            return complete(1)
          },
        },
      })
    if (sleptBefore) await start()
    await clock.settle()
    const { id } = await client.startJobChain({ typeName: 'step', input: 1 })
    const { jobs } = await storage.claim({ worker: 'dead', slots: 1, types: [{ type: 'chain.step', leaseMs: 2_000 }] })
    assert.equal(jobs.length, 1)
    if (!sleptBefore) await start()
    await clock.advance(3_000)
    assert.deepEqual(runs, [2])
    assert.equal((await client.getJob({ typeName: 'step', id }))!.failures, 1)
  }
})

test('[chains trap 9] a thousand lost jobs are taken back in few calls', async (t) => {
  const { client, clock, line, storage, work } = await clockBench(t, types)
  const items = Array.from({ length: 1_000 }, (_, input) => ({ typeName: 'step' as const, input }))
  await client.startJobChains({ items })
  await storage.claim({ worker: 'dead', slots: 1_000, types: [{ type: 'chain.step', leaseMs: 2_000 }] })
  await clock.advance(2_000)
  const before = line.count('claim')
  await work({ step: { process: async ({ complete }) => complete(1) } }, { concurrency: 10 })
  // No time passes meanwhile.
  await until(async () => {
    await clock.settle()
    return (await client.listJobChains({ filter: { state: ['completed'] }, limit: 1_000 })).items.length === 1_000
  })
  assert.ok(line.count('claim') - before <= 120, `${line.count('claim') - before} claims for 1000 jobs and 10 slots`)
})

test('[chains trap 29] a job that kills its worker ends: failed after its attempts, its handler not run again', async (t) => {
  const { client, clock, storage, work } = await clockBench(t, types)
  const { id } = await client.startJobChain({ typeName: 'step', input: 1 })
  for (let attempt = 1; attempt <= 3; attempt++) {
    const { jobs } = await storage.claim({
      worker: `dead ${attempt}`,
      slots: 1,
      types: [{ type: 'chain.step', leaseMs: 2_000 }],
    })
    assert.equal(jobs.length, 1)
    await clock.advance(2_000)
  }
  let runs = 0
  await work({
    step: {
      retryConfig: { maxAttempts: 3 },
      process: async ({ complete }) => {
        runs++
        return complete(1)
      },
    },
  })
  await clock.settle()
  const job = await client.getJob({ typeName: 'step', id })
  assert.ok(job!.state === 'failed' && job!.error.code === 'STALLED')
  assert.deepEqual([runs, job!.failures], [0, 3])
})

test('[chains trap 19] a hundred running jobs: one extend per period, which is the shortest of their types', async (t) => {
  const { client, clock, line, work } = await clockBench(t, types)
  await work(
    {
      step: { process: async () => new Promise(() => {}), leaseConfig: { leaseMs: 60_000, renewIntervalMs: 20_000 } },
    },
    { concurrency: 100 },
  )
  const items = Array.from({ length: 100 }, (_, input) => ({ typeName: 'step' as const, input }))
  await client.startJobChains({ items })
  await clock.advance(60_000)
  const renewals = line.calls.filter(({ verb }) => verb === 'extend')
  assert.equal(renewals.length, 3)
  assert.ok(renewals.every(({ args }) => (args[0] as unknown[]).length === 100))
})

test('[chains trap 25] retention keeps a blocker while an unfinished dependent needs it', async (t) => {
  const { clock, storage, work } = await clockBench(t, types)
  const client = await createClient({
    storage,
    jobTypeRegistry: types,
    clock,
    retention: { completed: { ageMs: 1 } },
  })
  t.after(() => client.close())
  await work({
    step: { process: async ({ job, complete }) => complete(job.input) },
    group: { process: async ({ job, complete }) => complete(job.blockers.map(({ output }) => output)) },
  })
  const group = await client.startJobChain({
    typeName: 'group',
    input: null,
    startBlockers: async ({ startJobChain }) => [
      await startJobChain({ typeName: 'step', input: 1 }),
      await startJobChain({ typeName: 'step', input: 2, schedule: { afterMs: 600_000 } }),
    ],
  })
  const done = client.waitForJobChainCompletion(group, { timeoutMs: 3_600_000 })
  const alone = await client.startJobChain({ typeName: 'step', input: 3 })
  await clock.advance(300_000)
  assert.equal(await client.getJobChain(alone), null)
  assert.equal((await client.getJobChain(group))!.state, 'blocked')
  await clock.advance(300_000)
  assert.deepEqual((await done).output, [1, 2])
})

test('retention: 7 days, 14 and 1 by default, fixed at the start; a window lengthens it', async (t) => {
  const { client, clock, storage } = await clockBench(t, types)
  const day = 86_400_000
  const kept = async (id: string) => (await storage.get([{ type: 'chain.step', id }]))[0]!.retention
  const one = await client.startJobChain({ typeName: 'step', input: 1 })
  assert.deepEqual(await kept(one.id), { completedMs: 7 * day, failedMs: 14 * day, cancelledMs: day })
  const two = await client.startJobChain({
    typeName: 'step',
    input: 1,
    deduplication: { key: 'k', windowMs: 30 * day },
  })
  assert.equal((await kept(two.id)).completedMs, 30 * day)
  const other = await createClient({
    storage,
    jobTypeRegistry: types,
    clock,
    retention: { failed: { ageMs: Infinity } },
  })
  const three = await other.startJobChain({ typeName: 'step', input: 1 })
  assert.deepEqual(await kept(three.id), { completedMs: 7 * day, failedMs: Infinity, cancelledMs: day })
  await other.close()
})

test('[chains trap 26] clocks an hour off, either way: nothing early, nothing stolen, delays exact', async (t) => {
  for (const offMs of [-3_600_000, 3_600_000]) {
    const { clock, storage } = await clockBench(t, types)
    const off = fakeClock({ now: clock.now() + offMs })
    const skewed = {
      ...clock,
      now: off.now,
      get pending() {
        return clock.pending
      },
    }
    const client = await createClient({ storage, jobTypeRegistry: types, clock: skewed })
    const runs: number[] = []
    const worker = await createInProcessWorker({
      storage,
      jobTypeRegistry: types,
      clock: skewed,
      jobTypeProcessors: {
        step: {
          process: async ({ job, complete }) => {
            runs.push(job.input)
            return complete(1)
          },
        },
      },
    })
    const held = await client.startJobChain({ typeName: 'step', input: 0 })
    await storage.claim({ worker: 'other', slots: 1, types: [{ type: 'chain.step', leaseMs: 60_000 }] })
    const stop = await worker.start()
    const later = await client.startJobChain({ typeName: 'step', input: 1, schedule: { afterMs: 10_000 } })
    const job = await client.getJob({ typeName: 'step', id: later.id })
    assert.equal(job!.runAt, job!.createdAt + 10_000)
    assert.equal(job!.createdAt, clock.now())
    await clock.advance(9_999)
    assert.deepEqual(runs, [])
    await clock.advance(1)
    assert.deepEqual(runs, [1])
    assert.equal((await client.getJobChain(held))!.state, 'processing')
    await stop()
    await client.close()
  }
})

test('workerLoopRetryConfig: a claim that fails is repeated after 10 s, 20 …; a hint ends the pause', async (t) => {
  const { client, clock, line, work } = await clockBench(t, types)
  await work(
    { step: { process: async ({ complete }) => complete(1) } },
    { jobTypeProcessing: { workerLoopRetryConfig: { jitter: 0 } } },
  )
  line.on('claim', failing())
  await client.startJobChain({ typeName: 'step', input: 1 })
  await clock.settle()
  const first = line.count('claim')
  await clock.advance(9_000)
  assert.equal(line.count('claim'), first)
  await clock.advance(1_000)
  assert.equal(line.count('claim'), first + 1)
  await clock.advance(19_000)
  assert.equal(line.count('claim'), first + 1)
  line.on('claim', undefined)
  await client.startJobChain({ typeName: 'step', input: 2 })
  await clock.settle()
  assert.equal((await client.listJobChains({ filter: { state: ['completed'] } })).items.length, 2)
})

test('stop() resolves by its deadline and 1 s, though the storage is gone', async (t) => {
  const { client, clock, line, work } = await clockBench(t, types)
  const stop = await work({ step: { process: async () => new Promise(() => {}) } })
  await client.startJobChain({ typeName: 'step', input: 1 })
  await clock.settle()
  line.cut()
  let stopped = false
  const stopping = stop({ graceMs: 1_000, deadlineMs: 2_000 }).then(() => (stopped = true))
  await clock.advance(1_999)
  assert.equal(stopped, false)
  await clock.advance(1_001)
  assert.equal(stopped, true)
  await stopping
})

test('the defaults of stop(): 20 s of grace, deadline at 25 s', async (t) => {
  const { client, clock, work } = await clockBench(t, types)
  let abortedAt = 0
  const stop = await work({
    step: {
      process: async ({ signal }) => {
        signal.addEventListener('abort', () => (abortedAt = clock.now()))
        return new Promise(() => {})
      },
    },
  })
  await client.startJobChain({ typeName: 'step', input: 1 })
  await clock.settle()
  const before = clock.now()
  let stoppedAt = 0
  void stop().then(() => (stoppedAt = clock.now()))
  await clock.advance(26_000)
  assert.deepEqual([abortedAt - before, stoppedAt - before], [20_000, 25_000])
})

test('a lost connection reaches observer and logger, and so does its return', async (t) => {
  const { clock, line } = await clockBench(t, types)
  const lines: string[] = []
  const events: string[] = []
  const at = (level: string) => (_: object, message: string) => void lines.push(`${level} ${message}`)
  const client = await createClient({
    storage: line.storage,
    jobTypeRegistry: types,
    clock,
    logger: { info: at('info'), warn: at('warn') },
    observer: { connectionLost: () => events.push('lost'), connectionRestored: () => events.push('restored') },
  })
  t.after(() => client.close())
  line.on('get', async () => {
    throw Object.assign(new Error('no server'), { transient: true })
  })
  const read = assert.rejects(client.getJob({ typeName: 'step', id: 'x' }), { code: 'STORAGE_ERROR' })
  await clock.advance(10_000)
  await read
  line.on('get', undefined)
  await client.getJob({ typeName: 'step', id: 'x' })
  assert.deepEqual(events, ['lost', 'restored'])
  assert.equal(lines.length, 2)
  assert.match(lines[0]!, /^warn connection lost: .*no server/)
  assert.equal(lines[1], 'info connection restored')
})

test('the words: maxAttempts, backoff, leaseMs, timeoutMs and pollMs, of a worker and of a type', async (t) => {
  const { client, clock, storage, work } = await clockBench(t, types)
  const delays: unknown[] = []
  await work(
    {
      step: {
        process: boom,
        maxAttempts: 4,
        backoff: (attempt, error) => delays.push([attempt, error.message]) * 1_000,
      },
      group: { process: async () => new Promise(() => {}), timeoutMs: 500 },
    },
    { maxAttempts: 2, backoff: { type: 'fixed', delayMs: 7_000 }, leaseMs: 9_000, concurrency: 2 },
  )
  const step = await client.startJobChain({ typeName: 'step', input: 1 })
  const group = await client.startJobChain({ typeName: 'group', input: null, blockers: [] })
  await clock.settle()
  const [held] = await storage.get([{ type: 'chain.group', id: group.id }])
  assert.equal(held!.leaseUntil! - held!.startedAt!, 9_000)
  await clock.advance(500)
  const job = await client.getJob({ typeName: 'group', id: group.id })
  assert.deepEqual([job!.state, job!.lastAttemptError!.code], ['failing', 'ATTEMPT_TIMEOUT'])
  assert.equal(job!.runAt - clock.now(), 7_000)
  await clock.advance(20_000)
  assert.deepEqual(delays, [
    [1, 'boom'],
    [2, 'boom'],
    [3, 'boom'],
  ])
  const ended = await Promise.all([step, group].map(({ typeName, id }) => client.getJob({ typeName, id })))
  assert.deepEqual(
    ended.map((one) => [one!.state, one!.failures]),
    [
      ['failed', 4],
      ['failed', 2],
    ],
  )
})

test('a backoff function that gives no delay: an event, and the default of chains', async (t) => {
  const { client, clock, storage, work } = await clockBench(t, types)
  const errors: unknown[] = []
  await work(
    { step: { process: boom, backoff: () => Number.NaN } },
    { observer: { workerError: ({ error }) => errors.push((error as Error).message) } },
  )
  const { id } = await client.startJobChain({ typeName: 'step', input: 1 })
  await clock.settle()
  const delayMs = (await runAtOf(storage, id)) - clock.now()
  assert.ok(delayMs >= 8_000 && delayMs <= 10_000, `${delayMs}`)
  assert.equal(errors.length, 1)
  assert.match(String(errors[0]), /^backoff: expected a finite number >= 0, got NaN/)
})

test('a job of an hour runs once with the defaults', async (t) => {
  const { client, clock, work } = await clockBench(t, types)
  let runs = 0
  await work({
    step: {
      process: async ({ complete }) => {
        runs++
        await new Promise<void>((resolve) => void clock.after(3_600_000, resolve))
        return complete(1)
      },
    },
  })
  // Idle, and ready to take over.
  await work({ step: { process: boom } })
  const chain = await client.startJobChain({ typeName: 'step', input: 1 })
  await clock.advance(3_601_000)
  const job = await client.getJob({ typeName: 'step', id: chain.id })
  assert.deepEqual([runs, job!.state, job!.attempt, job!.failures], [1, 'completed', 1, 0])
})

test('stop() during a start that hangs resolves within a second', async (t) => {
  const { clock, storage } = await clockBench(t, types)
  const line = faulty(storage)
  const worker = await createInProcessWorker({
    storage: line.storage,
    jobTypeRegistry: types,
    clock,
    jobTypeProcessors: { step: { process: boom } },
  })
  line.cut()
  const ready = worker.start()
  await clock.settle()
  let isStopped = false
  const stopping = worker.stop().then(() => (isStopped = true))
  await clock.advance(1_000)
  assert.ok(isStopped)
  line.mend()
  await assert.rejects(ready, { code: 'STORAGE_ERROR' })
  await stopping
  assert.equal(line.connections, 0)
})

test('no timer is left after stop() and close()', async (t) => {
  const { clock, storage } = await clockBench(t, types)
  const client = await createClient({ storage, jobTypeRegistry: types, clock })
  const worker = await createInProcessWorker({
    storage,
    jobTypeRegistry: types,
    clock,
    jobTypeProcessors: { step: { process: async ({ complete }) => complete(1), timeoutMs: 60_000 } },
    jobTypeProcessing: { nextJobDelayMs: 10_000 },
  })
  const stop = await worker.start()
  const chain = await client.startJobChain({ typeName: 'step', input: 1 })
  const waiting = client.waitForJobChainCompletion(chain, { timeoutMs: 60_000 })
  await clock.advance(10)
  await waiting
  await stop()
  await client.close()
  assert.equal(clock.pending, 0)
})
