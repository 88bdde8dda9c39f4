// An attempt that is no longer one's own changes nothing; one that is lost comes back.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HoldfastError, type QueueEvent, Reaper, type Storage } from 'holdfast'
import { defaultType, type Ending } from 'holdfast/storage'
import { bench, gate, next, sleep, type TestDriver, until } from './driver.ts'
import { faulty } from './faulty-storage.ts'

const ref = { type: defaultType, id: 'a' }

/** Takes back what runs, however short a time. */
async function takeBack(storage: Storage): Promise<void> {
  const request = { types: [defaultType], limit: 10, olderThanMs: 0 }
  await until(async () => (await storage.recover(request)).length > 0, 'the take-back')
}

const read = (storage: Storage): Promise<unknown> =>
  storage.get([ref], { parts: ['payload', 'result', 'error', 'attempts'] })

export function fencingTests(driver: TestDriver): void {
  describe(`${driver.name}: fencing`, () => {
    const lateEndings: readonly Ending[] = [
      { kind: 'completed', result: Buffer.from('"late"') },
      { kind: 'retry', error: Buffer.from('{"message":"late"}') },
      { kind: 'failed', error: Buffer.from('{"message":"late"}') },
      { kind: 'released' },
    ]
    for (const [where, expected] of [
      ['waits', 'taken_by_another_worker'],
      ['runs elsewhere', 'taken_by_another_worker'],
      ['runs elsewhere, a dozen attempts later', 'taken_by_another_worker'],
      ['has completed', 'already_completed'],
      ['was cancelled', 'cancelled'],
    ] as const) {
      test(`[trap 6] every late write is refused and changes nothing, when the job ${where}`, async (t) => {
        const { queue, storage } = await bench(t, driver)
        const producer = queue<string>({ maxRetries: 20 })
        await producer.enqueue('a', 'payload')
        await storage.connect()
        t.after(() => storage.disconnect())
        const types = [{ type: defaultType, leaseMs: 60_000 }]
        const { jobs } = await storage.claim({ worker: 'stale', slots: 1, types })
        const { type, id, worker, attempt } = jobs[0]!
        await takeBack(storage)
        if (where === 'was cancelled') await storage.cancel([ref])
        for (let lost = 0; where.includes('dozen') && lost < 12; lost++) {
          await storage.claim({ worker: `lost ${lost}`, slots: 1, types })
          await takeBack(storage)
        }
        if (where.startsWith('runs') || where === 'has completed') {
          const taken = (await storage.claim({ worker: 'other', slots: 1, types })).jobs[0]!
          const other = { type, id, worker: taken.worker, attempt: taken.attempt }
          if (where === 'has completed') await storage.settle([{ ...other, kind: 'completed' }])
        }
        const before = await read(storage)
        for (const ending of lateEndings) {
          const [verdict] = await storage.settle([{ type, id, worker, attempt, ...ending }])
          assert.deepEqual(verdict, { verdict: expected }, ending.kind)
        }
        const [extended] = await storage.extend([{ type, id, worker, attempt, leaseMs: 60_000 }])
        assert.deepEqual(extended, { verdict: expected })
        assert.deepEqual(await read(storage), before)
      })
    }

    for (const [what, end] of [
      ['completes', (open: PromiseWithResolvers<string>) => open.resolve('late')],
      ['fails', (open: PromiseWithResolvers<string>) => open.reject(new Error('late'))],
    ] as const) {
      test(`[trap 6] a stalled worker whose handler ${what} late is told so, and the other’s result stands`, async (t) => {
        const { queue, storage } = await bench(t, driver)
        // It hears no hint and cannot renew, so it learns of the loss by the verdict on its outcome.
        const line = faulty(storage)
        line.lose(() => true)
        line.on('extend', () => new Promise(() => {}))
        const stale = queue<string, string>({ storage: line.storage, leaseMs: 10_000 })
        const open = gate<string>()
        stale.execute(() => open.promise)
        await stale.start()
        const waited = queue<string, string>().enqueueAndWait('a', '')
        await until(async () => (await stale.getStatus('a'))?.state === 'processing')
        await takeBack(storage)
        const other = queue<string, string>()
        other.execute(() => 'in time')
        const completed = next(other, 'completed')
        await other.start()
        await completed
        const fenced = next(stale, 'fenced')
        end(open)
        assert.deepEqual(await fenced, ['a', 1, 'already_completed'])
        assert.equal(await other.getResult('a'), 'in time')
        assert.equal(await waited, 'in time')
      })
    }

    test('[trap 7] a job that kills its worker ends: two runs, then failed with STALLED', async (t) => {
      const { queue, storage } = await bench(t, driver)
      let runs = 0
      const lines = [faulty(storage), faulty(storage)]
      const producer = queue<string, void>({ maxRetries: 2 })
      await producer.enqueue('pill', '')
      for (const line of lines) {
        const mortal = queue<string, void>({ storage: line.storage, leaseMs: 100 })
        t.after(() => line.mend())
        mortal.on('error', () => {})
        mortal.execute(() => {
          runs++
          // As far as the others can see, the process is gone.
          line.cut()
          return new Promise(() => {})
        })
        const ran = runs
        await mortal.start()
        await until(() => runs === ran + 1)
      }
      const survivor = queue<string, void>({ leaseMs: 100, blockTimeout: 0.05 })
      survivor.execute(() => assert.fail('a third run'))
      const failed = next(survivor, 'failed')
      const waited = assert.rejects(producer.enqueueAndWait('pill', ''), (error: HoldfastError) => {
        assert.equal((error as { details?: { code?: string } }).details?.code, 'STALLED')
        return true
      })
      await survivor.start()
      const [id, error] = await failed
      assert.deepEqual([id, error.attempts, (error.lastError as HoldfastError).code], ['pill', 2, 'STALLED'])
      await waited
      const status = await producer.getStatus('pill')
      assert.deepEqual([status!.state, status!.attempts, status!.error!.code], ['failed', 2, 'STALLED'])
      assert.equal(runs, 2)
      for (const line of lines) line.mend()
    })

    test('[trap 17] a stall is told once by the worker that gave up, and once in the stream', async (t) => {
      const { queue } = await bench(t, driver)
      const worker = queue<string, string>({ visibilityTimeout: 200, concurrency: 2 })
      worker.execute(({ attempts }) => (attempts === 1 ? new Promise(() => {}) : 'done'))
      const told: string[] = []
      worker.on('stalled', (id) => told.push(id))
      const streamed = await stalls(worker.events())
      await worker.start()
      assert.equal(await worker.enqueueAndWait('a', ''), 'done')
      await sleep(100)
      assert.deepEqual(told, ['a'])
      assert.deepEqual(streamed, ['a 1'])
    })

    test('[trap 17] … by the worker that took a lost lease back', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const dead = queue<string, string>({ storage: line.storage, leaseMs: 60 })
      t.after(() => line.mend())
      dead.on('error', () => {})
      dead.execute(() => {
        line.cut()
        return new Promise(() => {})
      })
      await dead.start()
      const finder = queue<string, string>()
      const told: string[] = []
      finder.on('stalled', (id) => told.push(id))
      const streamed = await stalls(finder.events())
      await finder.enqueue('a', '')
      await until(async () => (await finder.getStatus('a'))?.state === 'processing')
      finder.execute(() => 'done')
      await finder.start()
      assert.equal(await finder.enqueueAndWait('a', ''), 'done')
      await sleep(50)
      assert.deepEqual(told, ['a'])
      assert.deepEqual(streamed, ['a 1'])
      line.mend()
    })

    test('[trap 17] … and by the Reaper', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const worker = queue<string, string>()
      worker.execute(({ attempts, signal }) => {
        if (attempts > 1) return 'done'
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve('late')))
      })
      // Longer than the second attempt takes on a busy machine: it would be taken back, too.
      const reaper = new Reaper({ storage, visibilityTimeout: 1_000 })
      t.after(() => reaper.stop())
      const told: string[] = []
      reaper.on('stalled', (id) => told.push(id))
      worker.on('stalled', (id) => told.push(`${id}, by the worker`))
      const streamed = await stalls(worker.events())
      await worker.start()
      await reaper.start()
      assert.equal(await worker.enqueueAndWait('a', ''), 'done')
      await sleep(100)
      assert.deepEqual(told, ['a'])
      assert.deepEqual(streamed, ['a 1'])
    })

    test('[trap 20] a healthy job of five leases runs once, while others watch', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const leaseMs = 600
      let runs = 0
      const work = async (): Promise<string> => {
        runs++
        await sleep(5 * leaseMs)
        return 'done'
      }
      const workers = [1, 2, 3].map(() => queue<string, string>({ leaseMs, blockTimeout: 0.05, concurrency: 2 }))
      for (const worker of workers) {
        worker.execute(work)
        for (const event of ['stalled', 'fenced'] as const) worker.on(event, () => assert.fail(event))
        await worker.start()
      }
      const reaper = new Reaper({ storage, visibilityTimeout: 20_000, checkInterval: 20 })
      t.after(() => reaper.stop())
      await reaper.start()
      assert.equal(await workers[0]!.enqueueAndWait('a', ''), 'done')
      assert.equal(runs, 1)
      assert.equal((await workers[0]!.getStatus('a'))!.attempts, 1)
    })
  })
}

/** The stalls that a stream tells of, gathered as they come. */
async function stalls(stream: AsyncIterable<QueueEvent> & { ready: Promise<void> }): Promise<string[]> {
  const seen: string[] = []
  await stream.ready
  void (async () => {
    for await (const event of stream) if (event.event === 'stalled') seen.push(`${event.id} ${event.attempt}`)
  })()
  return seen
}
