// Progress and log lines of running attempts (F27).

import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { test } from 'node:test'
import type { Extension, Outcome } from 'holdfast/storage'
import { jobLogOf } from '../../../src/engine/job/log-lines.ts'
import type { Attempt } from '../../../src/engine/work/attempt.ts'
import type { AttemptEnd } from '../../../src/engine/work/outcomes.ts'
import { failing } from '../../queue/faulty-storage.ts'
import { completed, ids, workBench } from './bench.ts'

type Bench = ReturnType<typeof workBench>

/** What the storage has: the progress, and the texts of the log. */
async function stored({ memory }: Bench, id = 'a') {
  const [record] = await memory.get([{ type: 'default', id }], { parts: ['progress', 'log'] })
  const { progress, log } = record!
  return {
    progress: progress && (JSON.parse(Buffer.from(progress).toString()) as unknown),
    lines: log!.lines.map(({ line }) => (JSON.parse(Buffer.from(line).toString()) as { text: string }).text),
    log: log!,
  }
}

/** An attempt that runs until it is told to end. */
async function running(bench: Bench, given: Parameters<Bench['worker']>[0] = {}) {
  const end = Promise.withResolvers<AttemptEnd>()
  await bench.add(['a'])
  await bench.worker({ run: () => end.promise, ...given }).start()
  return { attempt: bench.started[0]!, end: end.resolve }
}

async function reporting(attempt: Attempt): Promise<AttemptEnd> {
  attempt.progress(1)
  attempt.log('began', { at: 'a' })
  attempt.progress({ done: 2 })
  return completed
}

const ignore = (): void => {}

test('[F27] reports of a short run ride on its outcome: no call of their own', async (t) => {
  const bench = workBench(t)
  await bench.add(['a'])
  await bench.worker({ run: reporting }).start()
  await bench.clock.settle()
  assert.deepEqual((await stored(bench)).progress, { done: 2 })
  assert.deepEqual((await stored(bench)).lines, ['began'])
  assert.equal(bench.line.count('extend'), 0)
  await bench.clock.advance(1_000)
  assert.equal(bench.line.count('extend'), 0)
})

test('[F27] reports of a long run are there within 250 ms, and the outcome does not repeat them', async (t) => {
  const bench = workBench(t)
  const { attempt, end } = await running(bench)
  attempt.progress(10)
  attempt.log('one')
  await bench.clock.advance(250)
  assert.deepEqual(await stored(bench).then(({ progress, lines }) => [progress, lines]), [10, ['one']])
  attempt.log('two')
  end(completed)
  await bench.clock.settle()
  assert.deepEqual((await stored(bench)).lines, ['one', 'two'])
  assert.equal((await stored(bench)).progress, 10)
})

test('[F27] at most 4 writes a second for all attempts of a worker together', async (t) => {
  const bench = workBench(t)
  await bench.add(ids(20))
  await bench.worker({ concurrency: 20, leaseMs: 600_000 }).start()
  for (let ms = 0; ms < 10_000; ms += 10) {
    for (const attempt of bench.started) attempt.progress(ms)
    await bench.clock.advance(10)
  }
  const calls = bench.line.count('extend')
  assert.ok(calls > 35 && calls <= 40, `${calls} calls in 10 s`)
})

test('[F27] a heartbeat takes reports along, and they cost no further call', async (t) => {
  const bench = workBench(t)
  const { attempt } = await running(bench, { leaseMs: 30_000 })
  await bench.clock.advance(9_900)
  attempt.log('one')
  await bench.clock.advance(1_000)
  assert.equal(bench.line.count('extend'), 1)
  assert.deepEqual((await stored(bench)).lines, ['one'])
})

test('an attempt without reports sends the same calls as before', async (t) => {
  const bench = workBench(t)
  const { end } = await running(bench)
  await bench.clock.advance(20_000)
  end(completed)
  await bench.clock.settle()
  const [extension] = bench.line.calls.find(({ verb }) => verb === 'extend')!.args[0] as Extension[]
  assert.deepEqual(Object.keys(extension!), ['type', 'id', 'worker', 'attempt', 'leaseMs'])
})

test('[F27] the time of a line is the storage’s', async (t) => {
  const bench = workBench(t)
  const { attempt } = await running(bench)
  await bench.clock.advance(100)
  attempt.log('later')
  await bench.clock.advance(250)
  const { log } = await stored(bench)
  assert.deepEqual(log.lines[0]!.at, attempt.job.startedAt + 100)
  assert.equal(log.lines[0]!.attempt, 1)
})

test('[F27] after the attempt was decided or lost, reports are dropped without an error', async (t) => {
  const bench = workBench(t)
  const { attempt } = await running(bench, { capMs: 1_000 })
  await bench.clock.advance(1_000)
  attempt.log('too late')
  attempt.progress(5)
  await bench.clock.advance(1_000)
  assert.deepEqual((await stored(bench)).lines, [])
  assert.equal((await stored(bench)).progress, undefined)
})

test('[F27] reports are fenced: those of an attempt that another worker has taken over are not stored', async (t) => {
  const bench = workBench(t)
  bench.line.lose(() => true)
  const { attempt } = await running(bench)
  await bench.memory.recover({ types: ['default'], limit: 1, olderThanMs: -1 })
  await bench.memory.claim({ worker: 'other', slots: 1, types: [{ type: 'default', leaseMs: 120_000 }] })
  attempt.log('stale')
  await bench.clock.advance(250)
  assert.equal(attempt.lost, true)
  attempt.log('stale too')
  await bench.clock.advance(60_000)
  assert.deepEqual((await stored(bench)).lines, [])
})

test('[F27] a report whose call failed is sent again, before later ones', async (t) => {
  const bench = workBench(t)
  const { attempt, end } = await running(bench)
  bench.line.on('extend', failing())
  attempt.log('one')
  attempt.progress(1)
  await bench.clock.advance(250)
  attempt.log('two')
  end(completed)
  await bench.clock.settle()
  assert.deepEqual(await stored(bench).then(({ progress, lines }) => [progress, lines]), [1, ['one', 'two']])
})

test('[F27] a report whose answer was lost is sent again, and stored once', async (t) => {
  const bench = workBench(t)
  const { attempt, end } = await running(bench)
  let lost = 0
  bench.line.on('extend', async (apply) => {
    await apply()
    lost++
    throw new Error('the answer was lost')
  })
  attempt.log('one')
  attempt.log('one')
  await bench.clock.advance(250)
  attempt.log('two')
  await bench.clock.advance(20_000)
  attempt.log('two')
  end(completed)
  await bench.clock.settle()
  assert.ok(lost > 1)
  assert.deepEqual((await stored(bench)).lines, ['one', 'one', 'two', 'two'])
})

test('[F27] lines of one instant have instants that rise, and are shown with that of the millisecond', async (t) => {
  const bench = workBench(t)
  const { attempt } = await running(bench)
  for (const text of ['a', 'b', 'c']) attempt.log(text)
  await bench.clock.advance(1)
  attempt.log('later')
  await bench.clock.advance(250)
  const { log } = await stored(bench)
  const { startedAt } = attempt.job
  const part = 2 ** -10
  assert.deepEqual(
    log.lines.map(({ at }) => at - startedAt),
    [0, part, 2 * part, 1],
  )
  assert.deepEqual(
    jobLogOf(log).lines.map(({ at }) => at - startedAt),
    [0, 0, 0, 1],
  )
})

test('[F27] an outcome waits for a report in flight, so that the fence does not refuse that', async (t) => {
  const bench = workBench(t)
  const { attempt, end } = await running(bench)
  const onItsWay = Promise.withResolvers<void>()
  bench.line.on('extend', async (apply) => {
    await onItsWay.promise
    return apply()
  })
  attempt.log('one')
  await bench.clock.advance(250)
  attempt.log('two')
  end(completed)
  await bench.clock.advance(1_000)
  assert.equal(await bench.stateOf('a'), 'processing')
  onItsWay.resolve()
  await bench.clock.settle()
  assert.equal(await bench.stateOf('a'), 'completed')
  assert.deepEqual((await stored(bench)).lines, ['one', 'two'])
})

test('[F27] while a report is in flight, later ones wait for it', async (t) => {
  const bench = workBench(t)
  const { attempt } = await running(bench)
  const onItsWay = Promise.withResolvers<void>()
  bench.line.on('extend', async (apply) => {
    await onItsWay.promise
    return apply()
  })
  attempt.log('one')
  await bench.clock.advance(250)
  attempt.log('two')
  await bench.clock.advance(1_000)
  onItsWay.resolve()
  await bench.clock.advance(250)
  assert.deepEqual((await stored(bench)).lines, ['one', 'two'])
})

test('[F27] an outcome that is sent again has its reports, and the repeat does not double them', async (t) => {
  const bench = workBench(t)
  const { attempt, end } = await running(bench)
  let sent = 0
  const losing = async (apply: () => Promise<unknown>): Promise<unknown> => {
    const answer = await apply()
    if (sent++ === 0) throw new Error('the answer was lost')
    return answer
  }
  bench.line.on('settle', losing)
  bench.line.on('claim', losing)
  attempt.log('one')
  end(completed)
  await bench.clock.advance(5_000)
  assert.deepEqual((await stored(bench)).lines, ['one'])
  assert.ok(sent > 1)
})

test('[F27] more lines than a log keeps are dropped before they are sent, and a line says how many', async (t) => {
  const bench = workBench(t)
  const { attempt } = await running(bench)
  for (let n = 0; n < 1_500; n++) attempt.log(`line ${n}`)
  await bench.clock.advance(250)
  const { lines } = await stored(bench)
  assert.equal(lines.at(-1), 'line 1499')
  const [{ log }] = bench.line.calls.find(({ verb }) => verb === 'extend')!.args[0] as [Extension]
  assert.equal(log!.length, 1_001)
  assert.match(Buffer.from(log![0]!.line).toString(), /500 lines before this one were not stored/)
})

test('[F27] a progress that is too large or cannot be stored is refused with a typed error', async (t) => {
  const bench = workBench(t)
  const { attempt } = await running(bench)
  assert.throws(() => attempt.progress('x'.repeat(4_095)), { code: 'TOO_LARGE', what: 'progress', limit: 4_096 })
  assert.throws(() => attempt.progress({ run: () => {} }), { code: 'SERIALIZATION_ERROR', path: 'progress.run' })
  assert.throws(() => attempt.progress(undefined), { code: 'INVALID_ARGUMENT' })
  assert.throws(() => attempt.log(5 as never), { code: 'INVALID_ARGUMENT' })
  assert.throws(() => attempt.log('text', 'fields' as never), { code: 'INVALID_ARGUMENT' })
  attempt.progress('x'.repeat(4_094))
  await bench.clock.advance(250)
  assert.equal(((await stored(bench)).progress as string).length, 4_094)
})

test('[F38] `progress` is published once the storage has it, if the channel has a subscriber', async (t) => {
  const bench = workBench(t)
  const { attempt, end } = await running(bench)
  attempt.progress('unwatched')
  await bench.clock.advance(250)
  subscribe('holdfast', ignore)
  t.after(() => unsubscribe('holdfast', ignore))
  attempt.progress(1)
  assert.deepEqual(bench.told('progress'), [])
  await bench.clock.advance(250)
  attempt.progress(2)
  end(completed)
  await bench.clock.settle()
  assert.deepEqual(
    bench.told('progress').map(({ id, value }) => [id, value]),
    [
      ['a', 1],
      ['a', 2],
    ],
  )
})

test('an outcome has no field for reports that were not made', async (t) => {
  const bench = workBench(t)
  const { end } = await running(bench)
  end(completed)
  await bench.clock.settle()
  const sent = bench.line.calls.flatMap(({ verb, args }) =>
    verb === 'settle' ? (args[0] as Outcome[]) : verb === 'claim' ? (args[0] as { outcomes: Outcome[] }).outcomes : [],
  )
  assert.deepEqual(
    sent.map((outcome) => 'log' in outcome || 'progress' in outcome),
    [false],
  )
})
