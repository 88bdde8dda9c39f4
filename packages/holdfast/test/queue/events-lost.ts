// Events of attempts that did not end by their own doing, and of jobs that were cancelled.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HoldfastError, type MaxRetriesError, type Queue, type Storage } from 'holdfast'
import { defaultType, type ClaimRequest, type Refusal } from 'holdfast/storage'
import { type Bench, bench, gate, next, sleep, type TestDriver, until } from './driver.ts'
import { type Faulty, faulty } from './faulty-storage.ts'
import { answersHeld, type Emitted, record } from './watched.ts'

export function lostEventTests(driver: TestDriver): void {
  describe(`${driver.name}: events of what was lost or cancelled`, () => {
    test('[Q6.07] [trap 17] stalled: its own attempt at the cap, once for each', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ visibilityTimeout: 60, maxRetries: 3 })
      queue.execute((job) => (job.attempts < 3 ? new Promise(() => {}) : 'done'))
      await queue.start()
      const emitted = record(queue)
      assert.equal(await queue.enqueueAndWait('a', 1), 'done')
      await until(() => emitted.some(([name]) => name === 'completed'))
      assert.deepEqual(emitted, [
        ['enqueued', 'a'],
        ['stalled', 'a'],
        ['stalled', 'a'],
        ['completed', 'a', 'done'],
      ])
    })

    test('[Q6.07] [trap 17] stalled: a lost lease that it took back, once', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      await queue.enqueue('a', 1)
      await claimAndDie(storage, 'a')
      const emitted = record(queue)
      queue.execute(() => 'done')
      const completed = next(queue, 'completed')
      await queue.start()
      await completed
      assert.deepEqual(
        emitted.filter(([name]) => name !== 'started'),
        [
          ['stalled', 'a'],
          ['completed', 'a', 'done'],
        ],
      )
    })

    test('[Q6.06] [Q6.07] the last stall that it found: stalled, then failed, with the payload', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue({ maxRetries: 1 })
      await queue.enqueue('a', { some: 'payload' })
      await claimAndDie(storage, 'a')
      const emitted = record(queue)
      queue.execute(() => 'never')
      const failed = next(queue, 'failed')
      await queue.start()
      assertStalledForGood((await failed)[1], { some: 'payload' })
      await sleep(10)
      assert.deepEqual(
        namesOf(emitted).filter((name) => name !== 'started'),
        ['stalled', 'failed'],
      )
    })

    test('[Q6.06] [Q6.07] the last stall of its own: stalled, then failed, with the payload', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue({ visibilityTimeout: 60, maxRetries: 1 })
      queue.execute(() => new Promise(() => {}))
      await queue.start()
      const emitted = record(queue)
      const failed = next(queue, 'failed')
      await queue.enqueue('a', { some: 'payload' })
      assertStalledForGood((await failed)[1], { some: 'payload' })
      assert.deepEqual(namesOf(emitted), ['enqueued', 'stalled', 'failed'])
    })

    for (const [verdict, lose] of [
      ['taken_by_another_worker', takeBack],
      [
        'already_completed',
        async (b) => {
          await takeBack(b)
          await runElsewhere(b, () => 'of another')
        },
      ],
      ['cancelled', ({ storage }) => storage.cancel([{ type: defaultType, id: 'a' }], { force: true })],
      ['not_found', ({ storage }) => storage.remove([{ type: defaultType, id: 'a' }], { trees: true })],
    ] as [Refusal, (b: Bench) => Promise<unknown>][]) {
      for (const [how, end] of [
        ['a result', (run) => run.resolve('late')],
        ['an error', (run) => run.reject(new Error('late'))],
        ['a stop', (_, queue) => void queue.stop({ timeout: 0 })],
      ] as [string, (run: PromiseWithResolvers<unknown>, queue: Queue<unknown, unknown>) => void][]) {
        test(`[Q6.08] [trap 6] fenced, ${verdict}: ${how} that comes too late changes nothing`, async (t) => {
          const b = await bench(t, driver)
          // Read after the queue has stopped, too.
          await b.storage.connect()
          const { queue, line, run } = await running(b, 'deaf')
          await lose(b)
          const before = await b.storage.get([{ type: defaultType, id: 'a' }], {
            parts: ['result', 'error', 'attempts'],
          })
          const emitted = record(queue)
          const fenced = next(queue, 'fenced')
          // It is told what came of its attempt, and takes no other.
          line.on('claim', async (_, { args }) => {
            const [{ outcomes = [] }] = args as [ClaimRequest]
            return { jobs: [], recovered: [], ended: [], settled: await b.storage.settle(outcomes) }
          })
          end(run, queue)
          assert.deepEqual(await fenced, ['a', 1, verdict])
          await sleep(20)
          assert.deepEqual(
            namesOf(emitted).filter((name) => name !== 'stopped'),
            ['fenced'],
          )
          const after = await b.storage.get([{ type: defaultType, id: 'a' }], {
            parts: ['result', 'error', 'attempts'],
          })
          assert.deepEqual(after, before)
          await b.storage.disconnect()
        })
      }
    }

    test('[Q6.08] fenced comes at the next heartbeat, or at a hint, and once', async (t) => {
      const b = await bench(t, driver)
      const { queue, run, job } = await running(b, 'hearing', { leaseMs: 150 })
      const emitted = record(queue)
      const fenced = next(queue, 'fenced')
      await takeBack(b)
      assert.deepEqual(await fenced, ['a', 1, 'taken_by_another_worker'])
      assert.equal(job.signal.aborted, true)
      run.resolve('late')
      await until(() => emitted.some(([name]) => name === 'completed'))
      assert.deepEqual(
        emitted.filter(([name]) => name === 'fenced' || name === 'completed'),
        [
          ['fenced', 'a', 1, 'taken_by_another_worker'],
          ['completed', 'a', 'attempt 2'],
        ],
      )
    })

    test('[Q6.09] requeued: released at stop, before stopped', async (t) => {
      const b = await bench(t, driver)
      const { queue, line } = await running(b, 'hearing')
      const emitted = record(queue)
      const { arrived, release } = answersHeld(line, 'outcomes')
      const stopping = queue.stop({ timeout: 10 })
      await arrived
      await sleep(10)
      assert.deepEqual(emitted, [])
      release()
      await stopping
      assert.deepEqual(emitted, [['requeued', 'a'], ['stopped']])
      const status = await b.queue().getStatus('a')
      assert.deepEqual([status?.state, status?.attempts], ['queued', 0])
    })

    test('[Q6.10] cancelled: its own cancel, once it is confirmed', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage })
      await queue.enqueue('a', 1)
      const emitted = record(queue)
      const { arrived, release } = answersHeld(line, 'cancel')
      const cancelling = queue.cancel('a')
      await arrived
      await sleep(10)
      assert.deepEqual(emitted, [])
      release()
      await cancelling
      assert.deepEqual(emitted, [['cancelled', 'a']])
    })

    test('[Q6.10] not when it was too late for that', async (t) => {
      const b = await bench(t, driver)
      const { queue, run } = await running(b, 'hearing')
      const emitted = record(queue)
      assert.deepEqual(await queue.cancel('a'), { status: 'processing' })
      assert.deepEqual(await queue.cancel('unknown'), { status: 'not_found' })
      const completed = next(queue, 'completed')
      run.resolve('done')
      await completed
      assert.deepEqual(await queue.cancel('a'), { status: 'completed' })
      assert.deepEqual(emitted, [['completed', 'a', 'done']])
    })

    test('[Q6.10] cancelled: its running attempt ended by abort; the one who asked emits nothing', async (t) => {
      const b = await bench(t, driver)
      const { queue, run, job } = await running(b, 'hearing')
      const other = b.queue()
      const [emitted, ofOther] = [record(queue), record(other)]
      job.signal.addEventListener('abort', () => run.reject(job.signal.reason))
      const cancelled = next(queue, 'cancelled')
      assert.deepEqual(await other.cancel('a', { abort: true }), { status: 'processing', aborting: true })
      assert.deepEqual(await cancelled, ['a'])
      await sleep(10)
      assert.deepEqual(emitted, [['cancelled', 'a']])
      assert.deepEqual(ofOther, [])
    })

    test('[Q6.03] [Q6.04] [Q6.10] each instance tells what it did itself, and nothing else', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [producer, worker, idle] = [newQueue(), newQueue(), newQueue()]
      const [ofProducer, ofWorker, ofIdle] = [record(producer), record(worker), record(idle)]
      worker.execute((job) => job.id)
      await Promise.all([producer.start(), worker.start(), idle.start()])
      await producer.enqueueAndWait('a', 1)
      await producer.enqueue('b', 1, { delayMs: 60_000 })
      await producer.cancel('b')
      await until(() => ofWorker.length === 2)
      assert.deepEqual(ofProducer, [['started'], ['enqueued', 'a'], ['enqueued', 'b'], ['cancelled', 'b']])
      assert.deepEqual(ofWorker, [['started'], ['completed', 'a', 'a']])
      assert.deepEqual(ofIdle, [['started']])
    })
  })
}

const namesOf = (emitted: readonly Emitted[]): string[] => emitted.map(([name]) => name)

function assertStalledForGood(error: MaxRetriesError, payload: unknown): void {
  assert.deepEqual([error.jobId, error.attempts, error.payload], ['a', 1, payload])
  assert.ok(error.lastError instanceof HoldfastError)
  assert.equal(error.lastError.code, 'STALLED')
}

/** The job 'a', in its first run. The handler ends as `run` does; later runs return their number. */
async function running(
  { queue: newQueue, storage }: Bench,
  hears: 'hearing' | 'deaf',
  config: { leaseMs?: number } = {},
): Promise<{
  queue: Queue<unknown, unknown>
  line: Faulty
  run: PromiseWithResolvers<unknown>
  job: { signal: AbortSignal }
}> {
  const line = faulty(storage)
  if (hears === 'deaf') line.lose(({ kind }) => kind === 'abort')
  const queue = newQueue({ storage: line.storage, ...config })
  const run = gate<unknown>()
  const began = gate<{ signal: AbortSignal }>()
  queue.execute((job) => {
    began.resolve(job)
    return job.attempts === 1 ? run.promise : `attempt ${job.attempts}`
  })
  await queue.start()
  await queue.enqueue('a', 1)
  return { queue, line, run, job: await began.promise }
}

/** As a Reaper does. */
async function takeBack({ storage }: Bench): Promise<void> {
  await until(async () => (await storage.recover({ types: [defaultType], limit: 1, olderThanMs: 1 })).length > 0)
}

async function runElsewhere({ queue: newQueue }: Bench, handler: () => unknown): Promise<void> {
  const other = newQueue()
  other.execute(handler)
  const completed = next(other, 'completed')
  await other.start()
  await completed
  await other.stop()
}

/** A worker that claims, and is never heard of again. Its lease has ended. */
async function claimAndDie(storage: Storage, id: string): Promise<void> {
  const claim = await storage.claim({ worker: 'dead', slots: 1, types: [{ type: defaultType, leaseMs: 50 }] })
  assert.equal(claim.jobs[0]?.id, id)
  await sleep(60)
}
