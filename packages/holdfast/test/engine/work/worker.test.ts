import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AttemptEnd } from '../../../src/engine/work/outcomes.ts'
import { completed, ids, workBench } from './bench.ts'

test('a worker with all its slots taken asks for nothing, whatever is queued', async (t) => {
  const { worker, line, clock, add, started } = workBench(t)
  await add(['running'])
  const busy = worker({ concurrency: 1 })
  await busy.start()
  const before = line.count()
  await add(['waiting'])
  await clock.advance(19_000)
  assert.equal(started.length, 1)
  // A look that the hint set off is allowed; heartbeats come at 20 s.
  assert.ok(line.count() - before <= 3, `${line.count() - before} calls`)
})

test('an idle worker is silent after its first look', async (t) => {
  const { worker, line, clock } = workBench(t)
  await worker({ pollMs: 60_000, leaseMs: 60_000 }).start()
  const before = line.count()
  await clock.advance(30_000)
  assert.deepEqual(line.calls.slice(before), [])
})

test('an idle worker polls by the shorter of its poll and its lease', async (t) => {
  for (const [pollMs, leaseMs] of [
    [5_000, 60_000],
    [60_000, 5_000],
  ] as const) {
    const { worker, line, clock } = workBench(t)
    await worker({ pollMs, leaseMs }).start()
    const before = line.count('claim')
    await clock.advance(50_000)
    const looks = line.count('claim') - before
    assert.ok(looks >= 10 && looks <= 12, `${looks} looks in ten periods, with a tenth left to chance`)
  }
})

test('a poll of Infinity leaves it to the hints', async (t) => {
  const { worker, line, clock, add, started } = workBench(t)
  await worker({ pollMs: Infinity, leaseMs: 1_000 }).start()
  const before = line.count('claim')
  await clock.advance(3_600_000)
  assert.equal(line.count('claim'), before)
  await add(['a'])
  await clock.settle()
  assert.equal(started.length, 1)
})

test('what is due later is begun when it is due, without a poll', async (t) => {
  const { worker, clock, add, started } = workBench(t)
  await add(['later'], { delayMs: 7_000 })
  await worker().start()
  await clock.advance(6_999)
  assert.equal(started.length, 0)
  await clock.advance(1)
  assert.equal(started.length, 1)
})

test('a job that became due earlier than known wakes the sleeper', async (t) => {
  const { worker, clock, add, started } = workBench(t)
  await add(['later'], { delayMs: 30_000 })
  await worker({ concurrency: 2 }).start()
  await add(['sooner'], { delayMs: 1_000 })
  await clock.advance(1_000)
  assert.deepEqual(
    started.map(({ job }) => job.id),
    ['sooner'],
  )
})

test('after stop() no more start than fill the slots', async (t) => {
  const { worker, clock, add, started } = workBench(t)
  await add(ids(3_000))
  const stopped = Promise.withResolvers<unknown>()
  const busy = worker({
    concurrency: 10,
    run: async () => {
      if (started.length === 50) stopped.resolve(busy.stop({ graceMs: 1_000, afterAbortMs: 0 }))
      return completed
    },
  })
  await busy.start()
  for (let turn = 0; turn < 400 && started.length < 50; turn++) await clock.settle()
  await clock.advance(2_000)
  await stopped.promise
  assert.ok(started.length >= 50 && started.length <= 60, `${started.length} began`)
})

test('the types take turns', async (t) => {
  const { worker, clock, add, started } = workBench(t)
  await add(ids(6, 'a'), { type: 'a' })
  await add(ids(6, 'b'), { type: 'b' })
  await worker({ types: ['a', 'b'], concurrency: 1, run: async () => completed }).start()
  for (let turn = 0; turn < 100 && started.length < 12; turn++) await clock.settle()
  const order = started.map(({ job }) => job.type).join('')
  assert.match(order, /^(ab){6}$|^(ba){6}$/)
})

test('a busy type does not keep another from its slots', async (t) => {
  const { worker, add, started } = workBench(t)
  await add(ids(100, 'a'), { type: 'a' })
  await add(ids(2, 'b'), { type: 'b' })
  await worker({ types: ['a', 'b'], concurrency: 10 }).start()
  assert.equal(started.filter(({ job }) => job.type === 'b').length, 2)
})

test('a claim that is answered during stop() gives its jobs back', async (t) => {
  const { worker, line, clock, add, started, stateOf, memory } = workBench(t)
  await add(['a'])
  const answered = Promise.withResolvers<void>()
  line.on('claim', async (apply) => {
    const answer = await apply()
    await answered.promise
    return answer
  })
  const idle = worker()
  const starting = idle.start()
  await clock.settle()
  assert.equal(await stateOf('a'), 'processing')
  const stopped = idle.stop({ graceMs: 10_000, afterAbortMs: 0 })
  await clock.settle()
  answered.resolve()
  await clock.settle()
  await Promise.all([starting, stopped])
  assert.equal(started.length, 0)
  const [record] = await memory.get([{ type: 'default', id: 'a' }])
  assert.equal(record!.state, 'queued')
  assert.equal(record!.failures, 0)
})

test('a hint that comes while it starts does not make it look twice at once', async (t) => {
  const { worker, line, clock, add, started } = workBench(t)
  await add(ids(5))
  line.on('listen', async (apply) => {
    const unlisten = await apply()
    await add(['six'])
    return unlisten
  })
  line.on('claim', async (apply) => {
    await new Promise<void>((resolve) => void clock.after(100, resolve))
    return apply()
  })
  const starting = worker({ concurrency: 1 }).start()
  await clock.advance(1_000)
  await starting
  assert.equal(started.length, 1, 'one slot, one job')
})

test('what ends together is sent together, with the next claim', async (t) => {
  const { worker, line, clock, add } = workBench(t)
  await add(ids(100))
  const open = Promise.withResolvers<AttemptEnd>()
  await worker({ concurrency: 100, run: () => open.promise }).start()
  const before = line.count()
  open.resolve(completed)
  await clock.settle()
  const calls = line.calls.slice(before)
  assert.deepEqual(
    calls.map(({ verb }) => verb),
    ['claim', 'nextDueAt'],
  )
  assert.equal((calls[0]!.args[0] as { outcomes: unknown[] }).outcomes.length, 100)
})

test('a storage that fails is asked less and less often, down to once in 5 s, and then as before', async (t) => {
  const { worker, line, clock, add, told, started } = workBench(t)
  line.on('claim', async () => {
    throw new Error('away')
  })
  await worker().start()
  await clock.advance(60_000)
  const calls = line.count('claim')
  assert.ok(calls >= 12 && calls <= 40, `${calls} claims in a minute`)
  assert.equal(told('error').length, calls)
  line.on('claim', undefined)
  line.lose(() => true)
  await add(['a'])
  await clock.advance(5_000)
  assert.equal(started.length, 1)
})

test('an attempt that reaches its cap is given up, and its slot is free at once', async (t) => {
  const { worker, clock, add, started, told, stateOf } = workBench(t)
  await add(['stuck', 'next'], { maxAttempts: 2 })
  await worker({ concurrency: 1, leaseMs: 1_000, capMs: 5_000 }).start()
  await clock.advance(4_999)
  assert.deepEqual(
    started.map(({ job }) => job.id),
    ['stuck'],
  )
  await clock.advance(1)
  assert.equal(started[0]!.signal.reason!.code, 'ATTEMPT_TIMEOUT')
  assert.deepEqual(
    started.map(({ job }) => job.id),
    ['stuck', 'next'],
  )
  assert.deepEqual(told('stalled'), [{ name: 'stalled', type: 'default', id: 'stuck' }])
  assert.equal(await stateOf('stuck'), 'queued')
})

test('stop() returns in time although the storage does not answer, and nothing goes on after it', async (t) => {
  // Its last call is still under way when it returns.
  const { worker, line, clock, add, started } = workBench(t, { callTimeoutMs: 8_000 })
  await add(ids(3))
  const cutOff = worker({ concurrency: 2 })
  await cutOff.start()
  assert.equal(started.length, 2)
  line.cut()
  const begun = clock.monotonic()
  let took = Infinity
  const stopped = cutOff.stop({ graceMs: 100, afterAbortMs: 100 }).then(() => (took = clock.monotonic() - begun))
  await clock.advance(10_000)
  await stopped
  assert.ok(took <= 100 + 100 + 5_000, `${took} ms`)
  const calls = line.count()
  await clock.advance(60_000)
  assert.equal(line.count(), calls, 'it asked for something after it had stopped')
  assert.equal(clock.pending, 0)
})

test('an outcome that is under way when stop() returns is not sent again, whatever comes of it', async (t) => {
  const { worker, line, clock, add, started } = workBench(t, { callTimeoutMs: 8_000 })
  await add(['a'])
  const failing = worker()
  await failing.start()
  assert.equal(started.length, 1)
  line.on('settle', async (_, { number }) => {
    if (number === 1) throw new Error('refused')
    // Not answered: its timeout ends it, after that of the stop.
    return new Promise(() => {})
  })
  const stopped = failing.stop({ graceMs: 0, afterAbortMs: 0 })
  await clock.advance(5_000)
  await stopped
  const calls = line.count()
  assert.equal(line.count('settle'), 2)
  await clock.advance(60_000)
  assert.deepEqual(line.calls.slice(calls), [], 'it asked for something after it had stopped')
  assert.equal(clock.pending, 0)
})

test('a call that waits to be repeated when stop() returns is not repeated', async (t) => {
  const { worker, line, clock } = workBench(t)
  const idle = worker()
  line.on('nextDueAt', async () => {
    throw Object.assign(new Error('reset'), { transient: true })
  })
  const starting = idle.start().catch(() => {})
  await clock.settle()
  assert.equal(line.count('nextDueAt'), 1)
  await idle.stop({ graceMs: 0, afterAbortMs: 0 })
  const calls = line.count()
  await clock.advance(60_000)
  await starting
  assert.deepEqual(line.calls.slice(calls), [])
  assert.equal(clock.pending, 0)
})

test('a worker whose start failed makes no call, whatever hints come', async (t) => {
  const { worker, line, clock, add, started } = workBench(t)
  // It listens, and never learns of it.
  line.on('listen', async (apply) => {
    await apply()
    throw new Error('reset')
  })
  await assert.rejects(worker().start(), { code: 'STORAGE_ERROR' })
  const calls = line.count()
  await add(['a'])
  await clock.advance(60_000)
  assert.deepEqual([line.calls.slice(calls), started.length], [[], 0])
})

test('a claim that is answered after stop() gives its jobs back all the same, and leaves no timer', async (t) => {
  const { worker, line, clock, add, memory, started } = workBench(t, { callTimeoutMs: 20_000 })
  const slow = worker({ leaseMs: 60_000 })
  await slow.start()
  line.on('claim', async (apply) => {
    const answer = await apply()
    await new Promise<void>((resolve) => void clock.after(8_000, resolve))
    return answer
  })
  await add(['a'])
  await clock.settle()
  const stopped = slow.stop({ graceMs: 0, afterAbortMs: 0 })
  await clock.advance(5_000)
  await stopped
  await clock.advance(3_000)
  const [record] = await memory.get([{ type: 'default', id: 'a' }])
  assert.deepEqual([record!.state, record!.failures, started.length], ['queued', 0, 0])
  assert.equal(clock.pending, 0)
})
