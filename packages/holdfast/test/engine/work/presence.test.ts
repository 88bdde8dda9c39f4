import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { workersKey, type WorkerInfo } from '../../../src/engine/work/presence.ts'
import { version } from '../../../src/version.ts'
import { ids, workBench } from './bench.ts'

const bench = (t: Parameters<typeof workBench>[0]) => {
  const made = workBench(t)
  const entries = async (): Promise<WorkerInfo[]> => {
    const { items } = await made.memory.kv.list(workersKey, { limit: 100 })
    return items.map(({ value }) => JSON.parse(Buffer.from(value).toString()) as WorkerInfo)
  }
  return { ...made, entries }
}

test('[F34] a worker is listed from its start to its stop', async (t) => {
  const { worker, clock, add, entries } = bench(t)
  await add(ids(2), { type: 'queue.mail' })
  const begunAt = clock.now()
  const working = worker({ presenceMs: 60_000, concurrency: 5, types: ['queue.mail', 'chain.order'] })
  await working.start()
  const [entry, ...others] = await entries()
  assert.deepEqual(others, [])
  assert.match(entry!.id, /^w\//)
  const { id: _, ...known } = entry!
  assert.deepEqual(known, {
    label: 'w',
    host: hostname(),
    pid: process.pid,
    version,
    types: [
      { face: 'queue', name: 'mail' },
      { face: 'chain', name: 'order' },
    ],
    concurrency: 5,
    slotsUsed: 0,
    leaseMs: 60_000,
    loopDelayMs: 0,
    startedAt: begunAt,
    lastSeenAt: begunAt,
  })
  await clock.advance(60_000)
  const [later] = await entries()
  assert.deepEqual(
    [later!.id, later!.slotsUsed, later!.startedAt, later!.lastSeenAt],
    [entry!.id, 2, begunAt, begunAt + 60_000],
  )
  const stopped = working.stop({ graceMs: 0, afterAbortMs: 0 })
  await clock.advance(1_000)
  await stopped
  assert.deepEqual(await entries(), [])
})

test('[F34] an idle worker writes once per presenceMs, and nothing else', async (t) => {
  const { worker, line, clock } = bench(t)
  await worker({ presenceMs: 60_000, pollMs: Infinity }).start()
  await clock.settle()
  const before = line.count()
  await clock.advance(59_999)
  assert.deepEqual(
    line.calls.slice(before).filter(({ verb }) => verb !== 'sweep'),
    [],
  )
  await clock.advance(540_001)
  assert.equal(line.count('kv.set'), 11)
})

test('[F34] presenceMs: false: no entry, and no call in 30 idle seconds', async (t) => {
  const { worker, line, clock, entries } = bench(t)
  await worker({ presenceMs: false }).start()
  await clock.settle()
  assert.deepEqual(await entries(), [])
  const before = line.count()
  await clock.advance(30_000)
  assert.deepEqual(line.calls.slice(before), [])
})

test('[F34] a dead worker disappears after 2.5 periods', async (t) => {
  const { worker, line, clock, entries } = bench(t)
  await worker({ presenceMs: 60_000 }).start()
  await clock.settle()
  line.on('kv.set', () => new Promise(() => {}))
  await clock.advance(149_999)
  assert.equal((await entries()).length, 1)
  await clock.advance(1)
  assert.deepEqual(await entries(), [])
})

test('[F34] a presence that cannot be written is no error of the worker', async (t) => {
  const { worker, line, clock, add, started, told } = bench(t)
  line.on('kv.set', () => Promise.reject(new Error('read-only')))
  await worker({ presenceMs: 1_000 }).start()
  await add(['a'])
  await clock.advance(2_000)
  assert.equal(started.length, 1)
  assert.deepEqual(told('error'), [])
  assert.equal(told('presence_failed').length, 3)
})

test('[F34] a stop waits for the write under way, so that no entry is left', async (t) => {
  const { worker, line, clock, entries } = bench(t)
  const answer = Promise.withResolvers<void>()
  line.on('kv.set', async (apply) => {
    await answer.promise
    return apply()
  })
  const working = worker({ presenceMs: 60_000 })
  await working.start()
  const stopped = working.stop({ graceMs: 0, afterAbortMs: 0 })
  await clock.settle()
  assert.equal(line.count('kv.delete'), 0)
  answer.resolve()
  await clock.settle()
  await stopped
  assert.deepEqual(await entries(), [])
})
