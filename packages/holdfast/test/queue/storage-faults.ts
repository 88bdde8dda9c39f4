// A storage that fails, is slow, or loses its answers: never a handler's fault, never a job's end.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { JobFailedError, StorageError } from 'holdfast'
import { type Claim } from 'holdfast/storage'
import { bench, gate, next, sleep, type TestDriver, until, duplicate } from './driver.ts'
import { delayed, failing, faulty, losingAnswers, type Rule, stumbling } from './faulty-storage.ts'

export function storageFaultTests(driver: TestDriver): void {
  describe(`${driver.name}: a faulty storage`, () => {
    test('[trap 5] 300 waits over a slow connection for a worker that fails at once: no rejection goes unhandled', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on(
        '*',
        delayed(() => 2 + 30 * Math.random()),
      )
      const unhandled: unknown[] = []
      const listener = (reason: unknown): void => void unhandled.push(reason)
      process.on('unhandledRejection', listener)
      t.after(() => process.off('unhandledRejection', listener))
      const worker = queue<number>({ concurrency: 50, maxRetries: 1 })
      worker.execute(() => {
        throw new Error('at once')
      })
      await worker.start()
      const producer = queue<number>({ storage: line.storage })
      const waits = Array.from({ length: 300 }, async (_, n) => {
        await sleep(n % 7)
        return producer.enqueueAndWait(`j${n}`, n)
      })
      for (const wait of await Promise.allSettled(waits)) {
        assert.ok(wait.status === 'rejected' && wait.reason instanceof JobFailedError)
      }
      await sleep(50)
      assert.deepEqual(unhandled, [])
    })

    for (const verb of ['claim', 'extend', 'nextDueAt'] as const) {
      for (const number of [1, 2, 3]) {
        test(`[trap 8] call ${number} of ${verb} fails: every job runs once, no slot is lost, stop is prompt`, async (t) => {
          const { queue, storage } = await bench(t, driver)
          const line = faulty(storage)
          line.on(verb, failing(number))
          // It is asked for where a claim does not tell it.
          if (verb === 'nextDueAt') {
            line.on('claim', async (apply) => ({ ...((await apply()) as Claim), nextDue: undefined }))
          }
          const worker = queue<number, number>({
            storage: line.storage,
            concurrency: 2,
            // Several heartbeats within the test, and none of them late on a busy machine.
            leaseMs: verb === 'extend' ? 1_500 : 30_000,
            visibilityTimeout: 20_000,
          })
          const errors: Error[] = []
          worker.on('error', (error) => errors.push(error))
          const blamed: string[] = []
          for (const event of ['failing', 'failed', 'stalled', 'fenced'] as const) {
            worker.on(event, (id: string) => blamed.push(`${event} ${id}`))
          }
          const runs = new Map<number, number>()
          worker.execute(async ({ payload }) => {
            runs.set(payload, (runs.get(payload) ?? 0) + 1)
            // One stays until the fault has been met, and another call has followed.
            if (payload === 0) await until(() => line.count(verb) > number)
            return payload
          })
          await worker.start()
          const producer = queue<number, number>()
          const long = producer.enqueueAndWait('j0', 0)
          for (let n = 1; n <= 5; n++) assert.equal(await producer.enqueueAndWait(`j${n}`, n), n)
          assert.equal(await long, 0)
          await Promise.all([6, 7].map((n) => producer.enqueueAndWait(`j${n}`, n)))
          assert.deepEqual([...runs.values()], Array.from({ length: 8 }).fill(1))
          assert.deepEqual(blamed, [])
          assert.equal(errors.length, 1)
          for (const error of errors) assert.ok(error instanceof StorageError)
          const stopping = performance.now()
          await worker.stop({ timeout: 0 })
          assert.ok(performance.now() - stopping < 2_000)
        })
      }
    }

    for (const number of [1, 2, 3]) {
      test(`[trap 8] call ${number} of settle fails, while it stops: what ended in time is recorded`, async (t) => {
        const { queue, storage } = await bench(t, driver)
        const line = faulty(storage)
        line.on('settle', failing(...Array.from({ length: number }, (_, index) => index + 1)))
        const worker = queue<number, number>({ storage: line.storage, concurrency: 3 })
        const errors: Error[] = []
        worker.on('error', (error) => errors.push(error))
        const open = gate()
        let runs = 0
        worker.execute(async ({ payload }) => {
          runs++
          await open.promise
          return payload
        })
        const producer = queue<number, number>()
        for (let n = 0; n < 3; n++) await producer.enqueue(`j${n}`, n)
        await worker.start()
        await until(() => runs === 3)
        const stopped = worker.stop({ timeout: 10_000 })
        open.resolve()
        await stopped
        for (let n = 0; n < 3; n++) assert.equal(await producer.getResult(`j${n}`), n)
        assert.equal(runs, 3)
        assert.equal(errors.length, number)
      })
    }

    test('[trap 8] a start whose listen fails rejects, leaves nothing behind, and the next one works', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('listen', failing(1))
      const worker = queue<string, string>({ storage: line.storage })
      worker.execute(({ payload }) => payload)
      await assert.rejects(worker.start(), StorageError)
      assert.equal(line.connections, 0)
      await worker.start()
      assert.equal(await worker.enqueueAndWait('a', 'done'), 'done')
    })

    test('[trap 8] a claim that was applied and lost its answer costs a lease, not a job', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('claim', losingAnswers(2))
      const worker = queue<string, string>({ storage: line.storage, leaseMs: 80 })
      worker.on('error', () => {})
      let runs = 0
      worker.execute(() => {
        runs++
        return 'done'
      })
      await worker.start()
      assert.equal(await queue<string, string>().enqueueAndWait('a', ''), 'done')
      assert.equal(runs, 1)
    })

    test('[trap 8] an enqueue or read that fails rejects with StorageError, and the next one works', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const line = faulty(storage)
      for (const verb of ['add', 'get', 'cancel', 'remove', 'listen']) line.on(verb, failing(1))
      const producer = queue<string, string>({ storage: line.storage })
      const calls = [
        () => producer.enqueue('a', ''),
        () => producer.getStatus('a'),
        () => producer.cancel('a'),
        () => producer.updateResultTTL('a', 1_000),
        () => producer.enqueueAndWait('a', '', { timeout: 0 }),
      ]
      for (const call of calls) await assert.rejects(call(), StorageError)
      assert.deepEqual(await producer.enqueue('a', ''), { status: 'queued' })
      assert.equal((await producer.getStatus('a'))!.state, 'queued')
      await assert.rejects(producer.enqueueAndWait('a', '', { timeout: 0 }), { code: 'TIMEOUT' })
      assert.deepEqual(await producer.cancel('a'), { status: 'cancelled' })
    })

    test('[trap 49] an add whose answers were lost, and which is repeated, is queued and runs once', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('add', stumbling(3, 'after'))
      const producer = queue<string, string>({ storage: line.storage })
      assert.deepEqual(await producer.enqueue('a', 'payload'), { status: 'queued' })
      assert.equal(line.count('add'), 4)
      await runsOnce(queue, 'a')
    })

    test('[trap 49] an add whose answer is lost for good says that it may have happened; calling again is safe', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('add', losingAnswers(1))
      const producer = queue<string, string>({ storage: line.storage })
      await assert.rejects(producer.enqueue('a', 'payload'), { code: 'STORAGE_ERROR', maybeApplied: true })
      assert.deepEqual(await producer.enqueue('a', 'payload'), duplicate('a', 'queued'))
      await runsOnce(queue, 'a')
    })

    for (const [what, rule] of [
      ['lost', losingAnswers(1)],
      ['lost again and again', losingAnswers(1, 2, 3)],
      ['lost, and the call repeated', stumbling(2, 'after')],
    ] as const satisfies [string, Rule][]) {
      test(`[trap 49] an outcome whose answer is ${what} completes, and the job runs once`, async (t) => {
        const { queue, storage } = await bench(t, driver)
        const line = faulty(storage)
        // Outcomes go with claims or by themselves: whichever carries them.
        let carried = 0
        const onlyOutcomes: Rule = (apply, call) => {
          const [given] = call.args as [unknown[] | { outcomes?: unknown[] }]
          const outcomes = Array.isArray(given) ? given : (given.outcomes ?? [])
          return outcomes.length > 0 ? rule(apply, { ...call, number: ++carried }) : apply()
        }
        line.on('claim', onlyOutcomes)
        line.on('settle', onlyOutcomes)
        const worker = queue<string, string>({ storage: line.storage, leaseMs: 10_000 })
        worker.on('error', (error) => assert.ok(error instanceof StorageError))
        worker.on('fenced', () => assert.fail('fenced'))
        let runs = 0
        worker.execute(() => {
          runs++
          return 'done'
        })
        const told: string[] = []
        worker.on('completed', (id, result) => told.push(`${id} ${result}`))
        await worker.start()
        const completed = next(worker, 'completed')
        assert.equal(await queue<string, string>().enqueueAndWait('a', ''), 'done')
        await completed
        await sleep(20)
        assert.deepEqual(told, ['a done'])
        assert.equal(runs, 1)
      })
    }
  })
}

async function runsOnce(queue: Awaited<ReturnType<typeof bench>>['queue'], id: string): Promise<void> {
  const worker = queue<string, string>()
  const seen: string[] = []
  worker.execute(({ payload }) => {
    seen.push(payload)
    return payload
  })
  await worker.start()
  await until(async () => (await worker.getStatus(id))!.state === 'completed')
  assert.deepEqual(seen, ['payload'])
}
