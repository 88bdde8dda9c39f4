// Another process has the write lock: calls wait for it without blocking the event loop.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Queue, StorageError } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { bench, newJob, types } from './bench.ts'

/** The longest time between two ticks of a timer of 20 ms. */
function watchLoop(): { longest(): number } {
  let last = performance.now()
  let longest = 0
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 20)
  return {
    longest: () => {
      clearInterval(timer)
      return longest
    },
  }
}

test('[Q5] a lock of 4 s: calls and a connect wait and succeed, the event loop is not blocked, leases are kept', async (t) => {
  const { open, spawn, path } = bench(t)
  const storage = await open()
  await storage.add([newJob('held')])
  const { jobs } = await storage.claim({ worker: 'w', slots: 1, types: [{ type: defaultType, leaseMs: 4_500 }] })
  const locker = spawn('lock', '4000')
  await locker.next()
  const loop = watchLoop()
  const late = new SqliteStorage({ path })
  t.after(() => late.disconnect())
  const [added, extended] = await Promise.all([
    storage.add([newJob('a')]),
    storage.extend(jobs.map((job) => ({ ...job, leaseMs: 60_000 }))),
    late.connect(),
    storage.get([{ type: defaultType, id: 'held' }]).then(([read]) => assert.equal(read!.state, 'processing')),
  ])
  const longest = loop.longest()
  assert.equal(added[0]!.verdict, 'added')
  assert.equal(extended[0]!.verdict, 'extended')
  assert.equal(await locker.next(), 'free')
  // It is some 30 ms. A call that blocked the process would take seconds.
  assert.ok(longest < 1_000, `${longest} ms`)
  const { jobs: next, recovered } = await late.claim({ worker: 'x', slots: 5, types })
  assert.deepEqual(recovered, [])
  assert.deepEqual(
    next.map(({ id }) => id),
    ['a'],
  )
})

test('a lock for longer than callTimeoutMs: a StorageError with its cause, nothing written, and the storage works again', async (t) => {
  const { open, spawn } = bench(t)
  const storage = await open({ callTimeoutMs: 600 })
  const queue = new Queue<string>({ storage })
  t.after(() => queue.stop())
  await queue.start()
  const locker = spawn('lock', '2000')
  await locker.next()
  const loop = watchLoop()
  await Promise.all(
    ['a', 'b'].map((id) =>
      assert.rejects(queue.enqueue(id, 'x'), (error: unknown) => {
        assert.ok(error instanceof StorageError)
        assert.equal(error.maybeApplied, false)
        const { errcode } = error.cause as { errcode: number }
        assert.equal(errcode & 0xff, 5)
        return true
      }),
    ),
  )
  assert.ok(loop.longest() < 500)
  assert.equal(await locker.next(), 'free')
  assert.equal(await queue.getStatus('a'), null)
  assert.equal((await queue.enqueue('a', 'x')).status, 'queued')
  const { types: counts } = await storage.count({})
  assert.equal(counts[0]!.states.queued, 1)
})
