import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Extension, LeaseVerdict } from 'holdfast/storage'
import type { AttemptEnd } from '../../../src/engine/work/outcomes.ts'
import { failing } from '../../queue/faulty-storage.ts'
import { completed, ids, workBench } from './bench.ts'

test('one extend per period, whatever the number of running jobs', async (t) => {
  const { worker, line, clock, add } = workBench(t)
  await add(ids(100))
  await worker({ concurrency: 100, leaseMs: 30_000 }).start()
  await clock.advance(60_000)
  const renewals = line.calls.filter(({ verb }) => verb === 'extend')
  assert.equal(renewals.length, 6)
  for (const { args } of renewals) assert.equal((args[0] as Extension[]).length, 100)
})

test('jobs that come and go in between cost no further extend', async (t) => {
  const { worker, line, clock, add } = workBench(t)
  await add(['long'])
  await worker({
    concurrency: 10,
    leaseMs: 30_000,
    run: async ({ job }) => (job.id === 'long' ? new Promise<AttemptEnd>(() => {}) : completed),
  }).start()
  for (let second = 0; second < 60; second++) {
    await add([`short${second}`])
    await clock.advance(1_000)
  }
  assert.equal(line.count('extend'), 6)
})

test('a lease is renewed before it ends, so a job of five leases runs once', async (t) => {
  const { worker, memory, clock, add, started, told } = workBench(t)
  await add(['long'])
  await worker({ leaseMs: 1_000 }).start()
  const other = { worker: 'other', slots: 1, types: [{ type: 'default', leaseMs: 1_000 }] }
  for (let step = 0; step < 50; step++) {
    await clock.advance(100)
    assert.deepEqual((await memory.claim(other)).jobs, [])
  }
  assert.equal(started.length, 1)
  assert.deepEqual(told('fenced'), [])
})

test('a lease never reaches past the cap', async (t) => {
  const { worker, line, clock, add, memory } = workBench(t)
  await add(['long'])
  await worker({ leaseMs: 30_000, capMs: 45_000 }).start()
  await clock.advance(44_000)
  const verdicts = line.calls.filter(({ verb }) => verb === 'extend').map(({ answer }) => answer as LeaseVerdict[])
  const [record] = await memory.get([{ type: 'default', id: 'long' }])
  for (const [verdict] of verdicts) {
    assert.equal(verdict!.verdict, 'extended')
    assert.ok((verdict as { until: number }).until <= record!.startedAt! + 45_000)
  }
})

test('after the event loop was blocked it says so, and asks the storage before it believes its lease lost', async (t) => {
  const { clock, line, add, started, told, worker, block } = workBench(t)
  await add(['a'])
  await worker({ leaseMs: 30_000 }).start()
  assert.equal(started[0]!.signal.aborted, false)
  block(90_000)
  await clock.advance(10_000)
  const [stall] = told('loop_stalled')
  assert.ok(stall, 'no loop_stalled')
  assert.equal(stall.ms, 90_000)
  assert.deepEqual(stall.types, ['default'])
  assert.equal(line.count('extend'), 1)
  // No other worker took the job meanwhile: the storage renews the lease.
  assert.equal(started[0]!.signal.aborted, false)
  assert.deepEqual(told('fenced'), [])
})

test('[F15] a stall of a little more than a third of the lease is told, a shorter one is not', async (t) => {
  for (const [stallMs, isTold] of [
    [9_000, false],
    [12_600, true],
  ] as const) {
    // Whenever it begins.
    for (const at of [100, 2_400, 5_000, 9_900]) {
      const { clock, add, told, worker, block } = workBench(t)
      await add(['a'])
      await worker({ leaseMs: 30_000 }).start()
      await clock.advance(at)
      block(stallMs)
      await clock.advance(3_000)
      assert.equal(told('loop_stalled').length, isTold ? 1 : 0, `${stallMs} ms from ${at}`)
      for (const { ms } of told('loop_stalled')) assert.ok(ms > 10_000 && ms <= stallMs, `${ms} of ${stallMs} ms`)
    }
  }
})

test('[F15] a handler that blocks the event loop and ends is told too, by its type', async (t) => {
  const { clock, add, told, worker, block } = workBench(t)
  await add(['a'], { type: 'cpu' })
  const run = async (): Promise<AttemptEnd> => {
    block(20_000)
    return completed
  }
  await worker({ types: ['cpu', 'other'], leaseMs: 30_000, run }).start()
  await clock.advance(5_000)
  assert.deepEqual(
    told('loop_stalled').map(({ types }) => types),
    [['cpu']],
  )
})

test('[F15] an idle worker has no timer that measures the event loop', async (t) => {
  const { clock, add, told, worker, block } = workBench(t)
  await add(['a'])
  await worker({ leaseMs: 30_000, run: async () => completed }).start()
  await clock.advance(30_000)
  const idle = clock.pending
  await clock.advance(10_000)
  assert.equal(clock.pending, idle)
  block(60_000)
  await clock.advance(1_000)
  assert.deepEqual(told('loop_stalled'), [])
})

test('after the event loop was blocked and the job taken back, the handler is told and nothing is recorded', async (t) => {
  const { clock, memory, line, add, started, told, stateOf, worker, block } = workBench(t)
  line.lose(() => true)
  await add(['a'])
  const open = Promise.withResolvers<AttemptEnd>()
  await worker({ leaseMs: 30_000, run: () => open.promise }).start()
  const { signal } = started[0]!
  await memory.recover({ types: ['default'], limit: 1, olderThanMs: -1 })
  await memory.claim({ worker: 'other', slots: 1, types: [{ type: 'default', leaseMs: 120_000 }] })
  block(90_000)
  await clock.advance(10_000)
  assert.equal(signal.reason!.code, 'LEASE_LOST')
  assert.deepEqual(
    told('fenced').map(({ id, verdict }) => [id, verdict]),
    [['a', 'taken_by_another_worker']],
  )
  open.resolve(completed)
  await clock.settle()
  assert.equal(await stateOf('a'), 'processing')
  assert.equal(told('fenced').length, 1, 'told once')
  assert.equal(told('completed').length, 0)
})

test('after the event loop was blocked it renews its leases before it claims, so it does not take its own job', async (t) => {
  const { clock, add, started, told, stateOf, line, worker, block } = workBench(t)
  await add(['a'])
  // The poll is due before the heartbeat, so its timer is the first to fire.
  await worker({ concurrency: 2, leaseMs: 30_000, pollMs: 2_000 }).start()
  await clock.advance(1_000)
  block(90_000)
  await clock.advance(5_000)
  assert.equal(started.length, 1)
  assert.equal(await stateOf('a'), 'processing')
  assert.deepEqual(told('stalled'), [])
  const verbs = line.calls.map(({ verb }) => verb)
  assert.equal(verbs[verbs.indexOf('extend') + 1], 'claim')
})

test('a lease that is about to end is renewed before a claim; one that ends with the cap is not', async (t) => {
  for (const [capMs, expected] of [
    [Infinity, 1],
    [30_000, 0],
  ] as const) {
    const { clock, add, started, line, worker } = workBench(t)
    await add(['a'])
    await worker({ concurrency: 2, leaseMs: 30_000, capMs }).start()
    line.on('extend', failing())
    await clock.advance(26_500)
    line.on('extend', undefined)
    const before = line.count('extend')
    await add(['b'])
    await clock.settle()
    assert.equal(line.count('extend') - before, expected)
    assert.equal(started.length, 2)
  }
})

for (const [how, cut] of [
  ['does not answer', (line: { cut(): void }) => line.cut()],
  ['fails', (line: { on(verb: string, rule: ReturnType<typeof failing>): void }) => line.on('*', failing())],
] as const) {
  test(`while the storage ${how} past the lease, the handler is told at its end; its outcome is still sent and counts`, async (t) => {
    const { worker, line, clock, add, started, told, stateOf } = workBench(t)
    await add(['a'])
    const open = Promise.withResolvers<AttemptEnd>()
    // A third of it is no whole second, so the end of the lease falls between two tries to renew it.
    await worker({ leaseMs: 31_000, run: () => open.promise }).start()
    const { signal } = started[0]!
    await clock.advance(12_000)
    cut(line)
    // The last renewal was at 10.333 s.
    await clock.advance(29_300)
    assert.equal(signal.aborted, false, 'not before its end')
    await clock.advance(100)
    assert.equal(signal.reason?.code, 'LEASE_LOST', 'at its end')
    open.resolve(completed)
    await clock.advance(30_000)
    assert.equal(await stateOf('a'), 'processing')
    line.mend()
    line.on('*', undefined)
    await clock.advance(10_000)
    assert.equal(await stateOf('a'), 'completed')
    assert.equal(told('completed').length, 1)
    assert.deepEqual(told('fenced'), [])
    assert.ok(told('error').length > 0)
  })
}

test('an extend that hangs does not hold back the next renewal', async (t) => {
  // Longer than the lease: the guard does not end the call in time.
  const { worker, line, clock, add, memory, started } = workBench(t, { callTimeoutMs: 60_000 })
  await add(['a'])
  line.on('extend', (apply, { number }) => (number === 1 ? new Promise(() => {}) : apply()))
  await worker({ leaseMs: 30_000 }).start()
  await clock.advance(19_000)
  assert.equal(line.count('extend'), 1, 'the one of 10 s hangs')
  await clock.advance(2_000)
  assert.equal(line.count('extend'), 2, 'the one of 20 s goes out all the same')
  await clock.advance(20_000)
  assert.equal(started[0]!.signal.aborted, false)
  const other = { worker: 'other', slots: 1, types: [{ type: 'default', leaseMs: 1_000 }] }
  assert.deepEqual((await memory.claim(other)).jobs, [])
})

for (const late of ['extended', 'cancelling'] as const) {
  test(`an answer that comes after that of a later extend shortens no lease: ${late}`, async (t) => {
    const { worker, line, clock, add, started } = workBench(t, { callTimeoutMs: 60_000 })
    await add(['a'])
    const open = Promise.withResolvers<void>()
    line.on('extend', async (apply, { number }) => {
      const answer = await apply()
      if (number !== 1) return answer
      await open.promise
      return [{ verdict: late }]
    })
    const begunAt = clock.monotonic()
    await worker({ leaseMs: 30_000 }).start()
    await clock.advance(45_000)
    // That of 10 s, when those of 20, 30 and 40 s have been answered.
    open.resolve()
    await clock.settle()
    assert.equal(started[0]!.leaseEndsAt - begunAt, 70_000)
    line.on('extend', failing())
    await clock.advance(20_000)
    assert.equal(started[0]!.abortedFor, late === 'cancelling' ? 'cancelled' : undefined)
  })
}

test('a record that is locked is asked about again, and not given up', async (t) => {
  const { worker, line, clock, add, started } = workBench(t)
  await add(['a'])
  let busy = 3
  line.on('extend', async (apply) => (busy-- > 0 ? [{ verdict: 'busy' }] : apply()))
  await worker({ leaseMs: 30_000 }).start()
  await clock.advance(14_000)
  assert.equal(line.count('extend'), 4, 'at 10 s, and each second until it was granted')
  await clock.advance(25_000)
  assert.equal(started[0]!.signal.aborted, false)
})

test('a request to stop reaches the handler by its hint, and without one by the next heartbeat', async (t) => {
  for (const hints of [true, false]) {
    const { worker, line, memory, clock, add, started } = workBench(t)
    line.lose(() => !hints)
    await add(['a'])
    await worker({ leaseMs: 30_000 }).start()
    await clock.advance(1_000)
    const { signal } = started[0]!
    await memory.cancel([{ type: 'default', id: 'a' }], { abort: true })
    await clock.settle()
    assert.equal(signal.aborted, hints)
    await clock.advance(9_000)
    assert.equal(signal.reason!.code, 'JOB_CANCELLED')
  }
})

test('nothing is left behind: no timer after stop()', async (t) => {
  const { worker, clock, add } = workBench(t)
  await add(ids(3))
  const busy = worker({ concurrency: 2 })
  await busy.start()
  const stopped = busy.stop({ graceMs: 100, afterAbortMs: 100 })
  await clock.advance(200)
  await stopped
  assert.equal(clock.pending, 0)
})
