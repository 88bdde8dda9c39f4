// Jobs that are handed over to an idle worker. The storage is memory, and the test does for it what a storage with `handsOver` does: it
// leases a new job to a worker that has offered a slot, and the hint carries the job.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { type ClaimedJob, type ClaimRequest, handedLeaseMs, handedWorker, type Signal } from 'holdfast/storage'
import type { Attempt } from '../../../src/engine/work/attempt.ts'
import type { AttemptEnd } from '../../../src/engine/work/outcomes.ts'
import type { Worker } from '../../../src/engine/work/worker.ts'
import { completed, workBench } from './bench.ts'

interface Handing extends ReturnType<typeof workBench> {
  /** The last claim with an offer. */
  offered(): ClaimRequest | undefined
  /** Adds a job and leases it to the worker of the last offer. @returns the hint, not sent yet */
  lease(id: string): Promise<Signal>
  /** Sends a hint to every worker, or to those from this number on. */
  send(signal: Signal, from?: number): Promise<void>
  /** A worker that has run a job, and so offers its slots. */
  busyWorker(given?: Parameters<ReturnType<typeof workBench>['worker']>[0]): Promise<Worker>
}

function handingBench(t: TestContext): Handing {
  const bench = workBench(t, { handsOver: true })
  const { line, memory, clock } = bench
  const listeners: ((signal: Signal) => void)[] = []
  let leased = 0
  let offered: ClaimRequest | undefined
  const listen = memory.listen.bind(memory)
  memory.listen = (topics, onSignal) => {
    listeners.push(onSignal)
    return listen(topics, onSignal)
  }
  line.on('claim', async (apply, { args }) => {
    const claim = await apply()
    const request = args[0] as ClaimRequest
    if (request.offer) offered = request
    return claim
  })
  return {
    ...bench,
    offered: () => offered,
    async lease(id: string): Promise<Signal> {
      line.lose(({ kind }) => kind === 'wake')
      await bench.add([id])
      await clock.settle()
      line.lose(() => false)
      const { jobs } = await memory.claim({
        worker: handedWorker(offered!.worker, ++leased),
        slots: 1,
        types: [{ type: 'default', leaseMs: handedLeaseMs }],
      })
      assert.equal(jobs[0]!.id, id)
      return { kind: 'wake', type: 'default', handed: jobs[0] as ClaimedJob }
    },
    async send(signal: Signal, from = 0): Promise<void> {
      for (const listener of listeners.slice(from)) listener(signal)
      await clock.settle()
    },
    async busyWorker(given = {}): Promise<Worker> {
      const worker = bench.worker({ prefetchMs: 20, run: async () => completed, ...given })
      await worker.start()
      assert.equal(offered, undefined, 'a worker that had nothing to do offers nothing')
      await bench.add(['first'])
      await clock.settle()
      assert.equal(await bench.stateOf('first'), 'completed')
      assert.equal(offered!.offer!.slots, given.concurrency ?? 1)
      return worker
    },
  }
}

const startedIds = ({ started }: Handing): string[] => started.map(({ job }) => job.id)

/** The handler of each job, by its id; 0 for one that is not listed. */
const lasting =
  (bench: Handing, ms: Readonly<Record<string, number>>) =>
  async ({ job }: Attempt): Promise<AttemptEnd> => {
    const lastsMs = ms[job.id] ?? 0
    if (lastsMs > 0) await new Promise<void>((resolve) => void bench.clock.after(lastsMs, resolve))
    return completed
  }

test('[P6] a job that is handed over starts without a claim, and its outcome carries the next offer', async (t) => {
  const bench = handingBench(t)
  await bench.busyWorker()
  const before = bench.line.count('claim')
  const earlier = bench.offered()!
  await bench.send(await bench.lease('a'))
  assert.deepEqual(startedIds(bench), ['first', 'a'])
  assert.equal(bench.line.count('claim'), before + 1)
  assert.equal(await bench.stateOf('a'), 'completed')
  const { worker, offer } = bench.offered()!
  assert.notEqual(worker, earlier.worker)
  assert.deepEqual(offer, earlier.offer)
})

test('[P6] a hint that is lost: the worker looks again when the lease ends, and no attempt is spent', async (t) => {
  const bench = handingBench(t)
  await bench.busyWorker()
  await bench.clock.advance(400)
  await bench.lease('a')
  await bench.clock.advance(999)
  assert.deepEqual(startedIds(bench), ['first'])
  await bench.clock.advance(1)
  assert.deepEqual(startedIds(bench), ['first', 'a'])
  assert.equal(bench.started[1]!.counted, 1)
  assert.equal(await bench.stateOf('a'), 'completed')
})

test('[P6] a worker without work looks once when its offer is over, and is silent then', async (t) => {
  const bench = handingBench(t)
  await bench.busyWorker({ pollMs: 60_000 })
  const before = bench.line.count()
  await bench.clock.advance(1_100)
  assert.equal(bench.line.count('claim'), 3 + 1)
  const looked = bench.line.count()
  assert.ok(looked - before <= 2, `${looked - before} calls`)
  await bench.clock.advance(30_000)
  assert.equal(bench.line.count(), looked)
})

test('[P6] the other workers look when the lease of a job that was handed over ends', async (t) => {
  const bench = handingBench(t)
  await bench.busyWorker({ label: 'owner', pollMs: Infinity })
  const other = bench.worker({ label: 'other', prefetchMs: 20, run: async () => completed })
  await other.start()
  const signal = await bench.lease('a')
  // The owner is silent, as one that was killed.
  bench.line.on('claim', async (apply, { args }) => {
    const { worker } = args[0] as ClaimRequest
    return worker.startsWith('owner') ? new Promise(() => {}) : apply()
  })
  await bench.send(signal, 1)
  await bench.clock.advance(900)
  assert.deepEqual(startedIds(bench), ['first'])
  await bench.clock.advance(100)
  assert.deepEqual(startedIds(bench), ['first', 'a'])
  assert.match(bench.started[1]!.job.worker, /^other/)
  assert.equal(bench.started[1]!.counted, 1)
})

test('[P6] the other workers look also without a poll, and after a claim that the storage answered before the add', async (t) => {
  for (const isClaiming of [false, true]) {
    const bench = handingBench(t)
    await bench.busyWorker({ label: 'owner', pollMs: Infinity })
    const other = bench.worker({ label: 'other', prefetchMs: 20, pollMs: Infinity, run: async () => completed })
    await other.start()
    const answered = Promise.withResolvers<void>()
    bench.line.on('claim', async (apply, { args }) => {
      if ((args[0] as ClaimRequest).worker.startsWith('owner')) return new Promise(() => {})
      const claim = await apply()
      await answered.promise
      return claim
    })
    if (isClaiming) await bench.send({ kind: 'wake', type: 'default' }, 1)
    await bench.send(await bench.lease('a'), 1)
    answered.resolve()
    await bench.clock.settle()
    assert.deepEqual(startedIds(bench), ['first'])
    await bench.clock.advance(1_000)
    assert.deepEqual(startedIds(bench), ['first', 'a'])
    assert.match(bench.started[1]!.job.worker, /^other/)
  }
})

test('[P6] [Q4.41] a job that is handed over while stop is called is released, and does not run', async (t) => {
  const bench = handingBench(t)
  const worker = await bench.busyWorker({ run: lasting(bench, { long: 500 }), concurrency: 2 })
  await bench.send(await bench.lease('long'))
  const signal = await bench.lease('a')
  const stopped = worker.stop({ graceMs: 5_000, afterAbortMs: 0 })
  await bench.send(signal)
  await bench.clock.advance(1_000)
  await stopped
  assert.deepEqual(startedIds(bench), ['first', 'long'])
  const [record] = await bench.memory.get([{ type: 'default', id: 'a' }])
  assert.deepEqual([record!.state, record!.failures], ['queued', 0])
})

test('[P6] after a long attempt nothing is offered for a minute: a handler that blocks would lose so short a lease', async (t) => {
  const bench = handingBench(t)
  await bench.busyWorker({ run: lasting(bench, { long: 250 }), pollMs: Infinity })
  await bench.add(['long'])
  await bench.clock.advance(250)
  assert.equal(await bench.stateOf('long'), 'completed')
  assert.equal(bench.offered()!.offer!.slots, 0, 'the last offer was taken back')
  const worker = bench.offered()!.worker
  await bench.clock.advance(59_000)
  await bench.add(['b'])
  await bench.clock.settle()
  assert.equal(bench.offered()!.worker, worker)
  await bench.clock.advance(1_000)
  await bench.add(['c'])
  await bench.clock.settle()
  assert.deepEqual([await bench.stateOf('c'), bench.offered()!.offer!.slots], ['completed', 1])
})

test('[P6] a worker that stops takes its offer back at once, with what it has to record', async (t) => {
  for (const isRunning of [false, true]) {
    const bench = handingBench(t)
    const worker = await bench.busyWorker({ run: lasting(bench, { long: 500 }), concurrency: 2 })
    if (isRunning) await bench.send(await bench.lease('long'))
    assert.equal(bench.offered()!.offer!.slots, 2)
    const stopped = worker.stop({ graceMs: 5_000, afterAbortMs: 0 })
    await bench.clock.settle()
    const { slots, offer } = bench.offered()!
    assert.deepEqual([slots, offer!.slots], [0, 0])
    const before = bench.line.count('claim')
    await bench.clock.advance(1_000)
    await stopped
    assert.equal(bench.line.count('claim'), before)
    if (isRunning) assert.equal(await bench.stateOf('long'), 'completed')
  }
})

test('[P6] a hint that comes twice starts the job once', async (t) => {
  const bench = handingBench(t)
  await bench.busyWorker({ run: lasting(bench, { a: 10 }), concurrency: 2 })
  const signal = await bench.lease('a')
  await bench.send(signal)
  await bench.send(signal)
  await bench.clock.advance(20)
  await bench.send(signal)
  assert.deepEqual(startedIds(bench), ['first', 'a'])
})

test('[P6] without a free slot the job is held: it starts with the slot, or goes back without an attempt', async (t) => {
  for (const [lastsMs, goesBack] of [
    [10, false],
    [50, true],
  ] as const) {
    const bench = handingBench(t)
    await bench.busyWorker({ run: lasting(bench, { b: lastsMs }) })
    const signal = await bench.lease('a')
    await bench.add(['b'])
    await bench.clock.settle()
    await bench.send(signal)
    await bench.clock.advance(30)
    const [record] = await bench.memory.get([{ type: 'default', id: 'a' }])
    assert.deepEqual([record!.state, record!.failures], [goesBack ? 'queued' : 'completed', 0])
    await bench.clock.advance(100)
    assert.deepEqual(startedIds(bench), ['first', 'b', 'a'])
    assert.deepEqual([await bench.stateOf('a'), bench.started.at(-1)!.counted], ['completed', 1])
  }
})

test('[P6] a hint that comes before the answer of the claim that made the offer', async (t) => {
  const bench = handingBench(t)
  await bench.busyWorker()
  await bench.send(await bench.lease('a'))
  const answered = Promise.withResolvers<void>()
  let offeredNow: ClaimRequest | undefined
  bench.line.on('claim', async (apply, { args }) => {
    const claim = await apply()
    offeredNow = args[0] as ClaimRequest
    await answered.promise
    return claim
  })
  await bench.send(await bench.lease('b'))
  assert.ok(offeredNow!.offer)
  bench.line.lose(({ kind }) => kind === 'wake')
  await bench.add(['c'])
  await bench.clock.settle()
  bench.line.lose(() => false)
  const { jobs } = await bench.memory.claim({
    worker: handedWorker(offeredNow!.worker, 1),
    slots: 1,
    types: [{ type: 'default', leaseMs: handedLeaseMs }],
  })
  await bench.send({ kind: 'wake', type: 'default', handed: jobs[0]! })
  assert.deepEqual(startedIds(bench), ['first', 'a', 'b'])
  answered.resolve()
  await bench.clock.settle()
  assert.deepEqual(startedIds(bench), ['first', 'a', 'b', 'c'])
  assert.equal(await bench.stateOf('c'), 'completed')
})

test('[P6] a handler that takes longer than the lease renews it in time', async (t) => {
  const bench = handingBench(t)
  await bench.busyWorker({ run: lasting(bench, { a: 5_000 }) })
  await bench.clock.advance(450)
  await bench.send(await bench.lease('a'))
  await bench.clock.advance(4_999)
  assert.equal(await bench.stateOf('a'), 'processing')
  await bench.clock.advance(1)
  assert.equal(await bench.stateOf('a'), 'completed')
  assert.deepEqual(startedIds(bench), ['first', 'a'])
  assert.deepEqual(bench.told('fenced'), [])
})

test('[P6] a hint that comes late, after a blocked event loop, starts nothing', async (t) => {
  const bench = handingBench(t)
  await bench.busyWorker()
  const signal = await bench.lease('a')
  bench.block(900)
  await bench.send(signal)
  assert.deepEqual(startedIds(bench), ['first', 'a'])
  assert.equal(bench.started.at(-1)!.job.attempt, 2, 'it was released, and claimed again')
})

test('[P5] [P6] nothing is offered with prefetchMs false, with several types, or with leases that are not longer', async (t) => {
  for (const given of [{ prefetchMs: false as const }, { types: ['default', 'other'] }, { leaseMs: handedLeaseMs }]) {
    const bench = handingBench(t)
    const worker = bench.worker({ prefetchMs: 20, run: async () => completed, ...given })
    await worker.start()
    await bench.add(['first'])
    await bench.clock.settle()
    assert.equal(await bench.stateOf('first'), 'completed')
    assert.equal(bench.offered(), undefined)
  }
})
