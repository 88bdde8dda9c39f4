// The Reaper: takes back what runs too long, from dead and live workers.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { type AttemptAbortedError, type Job, JobFailedError, Reaper, type ReaperConfig, type Storage } from 'holdfast'
import { bench, gate, next, sleep, type TestDriver, until } from './driver.ts'
import { faulty } from './faulty-storage.ts'
import { defaultType, storedType } from 'holdfast/storage'

export function reaperTests(driver: TestDriver): void {
  describe(`${driver.name}: Reaper`, () => {
    test('[Q4.42] takes an attempt that is too old from a live worker, and says so', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue({ visibilityTimeout: 60_000 })
      const jobs: Job<unknown>[] = []
      queue.execute((job) => {
        jobs.push(job)
        void job.signal
        return job.attempts === 1 ? new Promise(() => {}) : 'done'
      })
      const other = newQueue({ visibilityTimeout: 60_000 })
      const fenced = next(queue, 'fenced')
      // Not before the first has heard of it: once it is completed, it is told that instead.
      other.execute((job) => fenced.then(() => `of the other, attempt ${job.attempts}`))
      const { stalled } = await reap(t, { storage, visibilityTimeout: 300 })
      await queue.start()
      const wait = queue.enqueueAndWait('a', 1)
      await until(() => jobs.length === 1)
      await other.start()
      assert.deepEqual(await fenced, ['a', 1, 'taken_by_another_worker'])
      assert.equal(await wait, 'of the other, attempt 2')
      assert.equal((jobs[0]!.signal.reason as AttemptAbortedError).code, 'LEASE_LOST')
      assert.deepEqual(stalled, ['a'])
      const [record] = await storage.get([{ type: defaultType, id: 'a' }], { parts: ['attempts'] })
      const [first] = record!.attempts!
      assert.equal(first!.outcome, 'stalled')
      assert.ok(first!.endedAt - first!.startedAt > 300, 'before its time')
    })

    test('[Q4.42] from a dead worker, before its lease ends', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      await queue.start()
      await queue.enqueue('a', 1)
      await takeAndDie(storage, defaultType, 1)
      const { stalled } = await reap(t, { storage, visibilityTimeout: 200 })
      await until(() => stalled.length === 1)
      const status = await queue.getStatus('a')
      assert.deepEqual([status?.state, status?.attempts], ['queued', 1])
      queue.execute((job) => job.attempts)
      assert.equal(await queue.enqueueAndWait('a', 1), 2)
    })

    test('[Q4.42] [trap 47] of its own names, and of no other', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const names = ['one', 'two', 'three', 'default']
      const queues = names.map((name) => newQueue({ name }))
      for (const queue of queues) {
        await queue.start()
        await queue.enqueue(`of ${queue.name}`, 1)
        await takeAndDie(storage, storedType('queue', queue.name), 1)
      }
      const both = await reap(t, { storage, name: ['one', 'two'], visibilityTimeout: 40 })
      await until(() => both.stalled.length === 2)
      const third = await reap(t, { storage, name: 'three', visibilityTimeout: 40 })
      await until(() => third.stalled.length === 1)
      await sleep(30)
      assert.deepEqual([both.stalled.toSorted(), third.stalled], [['of one', 'of two'], ['of three']])
      assert.equal((await queues[3]!.getStatus('of default'))?.state, 'processing')
    })

    test('[Q4.42] [trap 20] not an attempt that is younger than its limit, however long the job lives', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      queue.execute(async (job) => {
        await sleep(100)
        return job.attempts
      })
      await queue.start()
      const { stalled } = await reap(t, { storage, visibilityTimeout: 20_000, checkInterval: 5 })
      assert.equal(await queue.enqueueAndWait('a', 1), 1)
      assert.deepEqual(stalled, [])
    })

    test('[Q4.42] [Q4.40] the last attempt: failed with STALLED, and waiters learn of it', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      const wait = queue.enqueueAndWait('a', 1, { maxAttempts: 1 })
      await until(async () => (await queue.getStatus('a')) !== null)
      await takeAndDie(storage, defaultType, 1)
      const { stalled } = await reap(t, { storage, visibilityTimeout: 40 })
      await assert.rejects(wait, (error) => error instanceof JobFailedError && error.details.code === 'STALLED')
      assert.deepEqual(stalled, ['a'])
    })

    test('[Q4.42] [trap 19] needs no serde: it never reads a payload', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      await queue.enqueue('a', 1)
      await takeAndDie(storage, defaultType, 1)
      const { stalled, errors } = await reap(t, {
        storage,
        visibilityTimeout: 40,
      })
      await until(() => stalled.length === 1)
      assert.deepEqual(errors, [])
    })

    test('[Q4.42] start and stop are idempotent and counted; once stopped it does nothing; it may start again', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const reaper = new Reaper({ storage: line.storage, visibilityTimeout: 30 })
      t.after(() => reaper.stop())
      await Promise.all([reaper.start(), reaper.start()])
      await reaper.start()
      assert.deepEqual([line.connections, line.count('connect')], [1, 1])
      await until(() => line.count('recover') > 0)
      await Promise.all([reaper.stop(), reaper.stop()])
      await reaper.stop()
      assert.deepEqual([line.connections, line.count('disconnect')], [0, 1])
      const before = line.count()
      const queue = newQueue()
      await queue.enqueue('a', 1)
      await takeAndDie(storage, defaultType, 1)
      await sleep(80)
      assert.equal(line.count(), before)
      const stalled = new Promise((resolve) => reaper.once('stalled', resolve))
      await reaper.start()
      assert.equal(await stalled, 'a')
    })

    for (const election of [false, true]) {
      test(`[Q4.43] several Reapers, ${election ? 'with' : 'without'} election: each stall is taken back once`, async (t) => {
        const { queue: newQueue, storage } = await bench(t, driver)
        const queue = newQueue({ maxRetries: 9 })
        await queue.start()
        const ids = Array.from({ length: 30 }, (_, index) => `job ${index}`)
        await Promise.all(ids.map((id) => queue.enqueue(id, 1)))
        await takeAndDie(storage, defaultType, 30)
        const config = { storage, visibilityTimeout: 40, checkInterval: 5, leaderElection: { enabled: election } }
        const reapers = await Promise.all(Array.from({ length: 4 }, () => reap(t, config)))
        await until(() => reapers.flatMap(({ stalled }) => stalled).length >= 30)
        await sleep(50)
        const stalled = reapers.flatMap((one) => one.stalled)
        assert.deepEqual(stalled.toSorted(), ids.toSorted())
        for (const id of ids) assert.equal((await queue.getStatus(id))?.attempts, 1)
        const leaders = reapers.filter(({ reaper }) => reaper.isLeader)
        assert.equal(leaders.length, election ? 1 : 0)
        if (election) assert.equal(leaders[0]!.stalled.length, 30, 'the leader alone acts')
      })
    }

    test('[Q4.43] Reapers of different names elect apart', async (t) => {
      const { storage } = await bench(t, driver)
      const leaderElection = { enabled: true }
      const [one, two, both] = [
        await reap(t, { storage, name: 'one', leaderElection }),
        await reap(t, { storage, name: 'two', leaderElection }),
        await reap(t, { storage, name: ['one', 'two'], leaderElection }),
      ]
      const again = await reap(t, { storage, name: ['two', 'one'], leaderElection })
      assert.deepEqual(
        [one, two, both, again].map(({ reaper }) => reaper.isLeader),
        [true, true, true, false],
      )
    })

    test('[Q4.44] a leader that stops gives the lock up, and another leads soon', async (t) => {
      const { storage } = await bench(t, driver)
      const leaderElection = { enabled: true, lockTTL: 60_000, acquireRetryInterval: 10 }
      const first = await reap(t, { storage, leaderElection })
      const second = await reap(t, { storage, leaderElection })
      assert.deepEqual([first.reaper.isLeader, second.reaper.isLeader], [true, false])
      const lost = gate()
      const acquired = gate()
      first.reaper.once('leadershipLost', lost.resolve)
      second.reaper.once('leadershipAcquired', acquired.resolve)
      await first.reaper.stop()
      await lost.promise
      assert.equal(first.reaper.isLeader, false)
      await acquired.promise
      assert.equal(second.reaper.isLeader, true)
    })
  })
}

interface Reaping {
  readonly reaper: Reaper
  readonly stalled: string[]
  readonly errors: Error[]
}

/** A Reaper that is stopped after the test, and what it says. */
async function reap(t: TestContext, config: ReaperConfig): Promise<Reaping> {
  const reaper = new Reaper(config)
  const reaping: Reaping = { reaper, stalled: [], errors: [] }
  reaper.on('stalled', (id) => reaping.stalled.push(id))
  reaper.on('error', (error) => reaping.errors.push(error))
  t.after(() => reaper.stop())
  await reaper.start()
  return reaping
}

async function takeAndDie(storage: Storage, type: string, count: number): Promise<void> {
  const request = { worker: `dead/${type}`, label: 'dead', slots: count, types: [{ type, leaseMs: 600_000 }] }
  assert.equal((await storage.claim(request)).jobs.length, count)
}
