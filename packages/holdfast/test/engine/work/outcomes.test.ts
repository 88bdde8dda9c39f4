import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClaimRequest, Outcome } from 'holdfast/storage'
import type { AttemptEnd } from '../../../src/engine/work/outcomes.ts'
import { failing, type Rule } from '../../queue/faulty-storage.ts'
import { completed, ids, workBench } from './bench.ts'

/** The outcomes that a claim or settle carries. */
const outcomesOf = (args: readonly unknown[]): readonly Outcome[] =>
  Array.isArray(args[0]) ? (args[0] as Outcome[]) : ((args[0] as ClaimRequest).outcomes ?? [])

/** Fails every call that carries the outcome of one of these jobs. */
const poisonedBy =
  (...bad: string[]): Rule =>
  async (apply, { args }) => {
    if (outcomesOf(args).some(({ id }) => bad.includes(id))) throw new Error('cannot store this')
    return apply()
  }

test('an outcome that the storage cannot take holds up neither the others nor new jobs', async (t) => {
  const { worker, line, clock, add, started, stateOf } = workBench(t)
  line.on('claim', poisonedBy('j3'))
  line.on('settle', poisonedBy('j3'))
  await add(ids(10))
  const open = Promise.withResolvers<AttemptEnd>()
  await worker({ concurrency: 20, run: () => open.promise }).start()
  assert.equal(started.length, 10)
  open.resolve(completed)
  await clock.advance(5_000)
  for (const id of ids(10)) assert.equal(await stateOf(id), id === 'j3' ? 'processing' : 'completed', id)

  await add(ids(10, 'late'))
  await clock.advance(5_000)
  for (const id of ids(10, 'late')) assert.equal(await stateOf(id), 'completed', id)

  line.on('claim', undefined)
  line.on('settle', undefined)
  await clock.advance(10_000)
  assert.equal(await stateOf('j3'), 'completed')
})

test('with one slot, too', async (t) => {
  const { worker, line, clock, add, stateOf } = workBench(t)
  line.on('claim', poisonedBy('j0'))
  line.on('settle', poisonedBy('j0'))
  await add(ids(5))
  await worker({ concurrency: 1, run: async () => completed }).start()
  await clock.advance(20_000)
  for (const id of ids(5)) assert.equal(await stateOf(id), id === 'j0' ? 'processing' : 'completed', id)
})

test('one that was refused is tried again beside the loop: while that hangs, the others come and go', async (t) => {
  const { worker, line, clock, add, told, stateOf } = workBench(t)
  const answered = Promise.withResolvers<void>()
  line.on('claim', poisonedBy('bad'))
  line.on('settle', async (apply, { number }) => {
    // Refused alone, and once more after the storage was seen to answer.
    if (number <= 2) throw new Error('cannot store this')
    if (number === 3) await answered.promise
    return apply()
  })
  await add(['bad'])
  await worker({ run: async () => completed }).start()
  await clock.advance(1_000)
  assert.equal(line.count('settle'), 3, 'the retry is under way')

  await add(ids(3))
  await clock.settle()
  for (const id of ids(3)) assert.equal(await stateOf(id), 'completed', id)
  assert.equal(await stateOf('bad'), 'processing')

  answered.resolve()
  await clock.settle()
  assert.deepEqual(
    told('completed').map(({ id }) => id),
    [...ids(3), 'bad'],
  )
})

test('one that is refused for long makes those that come back after a short outage wait no longer', async (t) => {
  const { worker, line, clock, add, stateOf } = workBench(t)
  let away = false
  const rule: Rule = (apply, call) =>
    away ? Promise.reject(new Error('away')) : call.verb === 'nextDueAt' ? apply() : poisonedBy('bad')(apply, call)
  for (const verb of ['claim', 'settle', 'nextDueAt']) line.on(verb, rule)
  await add(['bad'])
  const open = Promise.withResolvers<AttemptEnd>()
  const run = ({ job }: { job: { id: string } }): Promise<AttemptEnd> =>
    job.id === 'bad' ? Promise.resolve(completed) : open.promise
  await worker({ concurrency: 2, run }).start()
  // By now it is tried each 5 s.
  await clock.advance(60_000)
  await add(['good'])
  await clock.settle()
  away = true
  open.resolve(completed)
  await clock.advance(100)
  away = false
  await clock.advance(200)
  assert.equal(await stateOf('good'), 'completed')
})

test('nor do those that came back with another that is refused', async (t) => {
  const { worker, line, clock, add, stateOf } = workBench(t)
  for (const verb of ['claim', 'settle']) line.on(verb, poisonedBy('bad', 'worse'))
  await add(['bad'])
  const open = Promise.withResolvers<AttemptEnd>()
  const run = ({ job }: { job: { id: string } }): Promise<AttemptEnd> =>
    job.id === 'bad' ? Promise.resolve(completed) : open.promise
  await worker({ concurrency: 3, run }).start()
  await clock.advance(60_000)
  await add(['worse', 'good'])
  await clock.settle()
  open.resolve(completed)
  await clock.advance(200)
  assert.deepEqual(await Promise.all(['worse', 'good'].map((id) => stateOf(id))), ['processing', 'completed'])
})

test('after an outage what gathered is sent in few calls', async (t) => {
  const { worker, line, clock, add, stateOf } = workBench(t)
  await add(ids(500))
  const open = Promise.withResolvers<AttemptEnd>()
  await worker({ concurrency: 500, run: () => open.promise }).start()
  line.cut()
  open.resolve(completed)
  await clock.advance(20_000)
  line.mend()
  const before = line.count()
  await clock.advance(20_000)
  for (const id of ids(500)) assert.equal(await stateOf(id), 'completed')
  assert.ok(line.count() - before < 30, `${line.count() - before} calls`)
})

test('an outcome is sent until a verdict comes, and reported once', async (t) => {
  const { worker, line, clock, add, told, stateOf } = workBench(t)
  await add(['a'])
  // Applied, and the answer lost, again and again.
  let lost = 5
  const losing: Rule = async (apply, { args }) => {
    const answer = await apply()
    if (outcomesOf(args).length > 0 && lost-- > 0) throw new Error('lost')
    return answer
  }
  line.on('claim', losing)
  line.on('settle', losing)
  await worker({ run: async () => ({ ...completed, value: 'v' }) }).start()
  await clock.advance(30_000)
  assert.equal(await stateOf('a'), 'completed')
  assert.deepEqual(
    told('completed').map(({ id, result }) => [id, result]),
    [['a', 'v']],
  )
  assert.equal(told('error').length, 5)
})

test('outcomes that could not be sent follow the loop backoff, where that is shorter than their own', async (t) => {
  for (const [delayMs, most, least] of [
    [10, 110, 90],
    [60_000, 8, 5],
  ] as const) {
    const { worker, line, clock, add, stateOf } = workBench(t)
    await add(['a'])
    const open = Promise.withResolvers<AttemptEnd>()
    await worker({ run: () => open.promise, loopBackoff: { type: 'fixed', delayMs } }).start()
    line.on('*', failing())
    const before = line.count('settle', 'claim')
    open.resolve(completed)
    await clock.advance(1_000)
    const tries = line.count('settle', 'claim') - before
    assert.ok(tries <= most && tries >= least, `${tries} tries in 1 s with a pause of ${delayMs} ms`)
    line.on('*', undefined)
    await clock.advance(5_000)
    assert.equal(await stateOf('a'), 'completed')
  }
})
