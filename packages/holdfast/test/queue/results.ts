// Reading what came of a job, and how long that can be read.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MessageState, MessageStatus } from 'holdfast'
import { bench, next, type TestDriver, until } from './driver.ts'
import { jobIn } from './states.ts'
import { defaultType } from 'holdfast/storage'

type Fields = Partial<Record<keyof MessageStatus<unknown>, unknown>>

/** What a status has beside id, state, createdAt and maxAttempts; `true` stands for an instant. */
const fieldsOf: Record<MessageState, Fields> = {
  scheduled: { attempts: 0, runAt: true },
  blocked: { attempts: 0 },
  queued: { attempts: 0 },
  processing: { attempts: 1, workerId: 'w', startedAt: true },
  failing: { attempts: 1, runAt: true, error: 'not yet' },
  completed: { attempts: 1, workerId: 'w', startedAt: true, finishedAt: true, expiresAt: true, result: 'done' },
  failed: { attempts: 1, workerId: 'w', startedAt: true, finishedAt: true, expiresAt: true, error: 'never' },
  cancelled: { attempts: 0, finishedAt: true, expiresAt: true },
}

export function resultTests(driver: TestDriver): void {
  describe(`${driver.name}: results`, () => {
    for (const state of Object.keys(fieldsOf) as MessageState[]) {
      test(`[Q4.25] [trap 15] the status and the result of a ${state} job`, async (t) => {
        const { queue } = await jobIn(await bench(t, driver), state, { workerId: 'w' })
        const status = await queue.getStatus('x')
        assert.ok(status)
        const { id, state: said, createdAt, maxAttempts, ...rest } = status
        assert.deepEqual([id, said, maxAttempts], ['x', state, state === 'failed' ? 1 : 3])
        assert.ok(createdAt > 1_700_000_000_000)
        const fields: Fields = {}
        for (const [key, value] of Object.entries(rest)) {
          const isInstant = key.endsWith('At')
          if (isInstant) assert.ok((value as number) >= createdAt, key)
          fields[key as keyof Fields] = isInstant ? true : key === 'error' ? status.error!.message : value
        }
        assert.deepEqual(fields, fieldsOf[state])
        assert.deepEqual(await queue.getResult('x'), state === 'completed' ? 'done' : null)
      })
    }

    test('[Q4.25] an unknown id has neither', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      assert.equal(await queue.getResult('unknown'), null)
      assert.equal(await queue.getStatus('unknown'), null)
    })

    test('[Q4.25] the status tells a null result from none, and a void one from null', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      queue.execute((job) => (job.id === 'null' ? null : undefined))
      await queue.start()
      await queue.enqueueAndWait('null', 1)
      await queue.enqueueAndWait('void', 1)
      assert.equal(await queue.getResult('null'), null)
      assert.equal(await queue.getResult('void'), undefined)
      const [ofNull, ofVoid] = [await queue.getStatus('null'), await queue.getStatus('void')]
      assert.deepEqual([ofNull?.state, ofNull?.result], ['completed', null])
      assert.deepEqual([ofVoid?.state, ofVoid?.result], ['completed', undefined])
    })

    test('[Q4.25] both are null once it has expired', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      queue.execute(() => 'done')
      await queue.start()
      assert.equal(await queue.enqueueAndWait('a', 1), 'done')
      await queue.updateResultTTL('a', 1)
      await until(async () => (await queue.getStatus('a')) === null)
      assert.equal(await queue.getResult('a'), null)
    })

    test('[Q4.25] a status is one consistent read', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [worker, reader] = [newQueue(), newQueue()]
      worker.execute((job) => {
        if (job.attempts === 1) throw new Error('not yet')
        return `of ${job.id}`
      })
      await worker.start()
      const states = new Set<string>()
      for (let round = 0; round < 50; round++) {
        const id = `job ${round}`
        await worker.enqueue(id, 1)
        for (;;) {
          const status = await reader.getStatus(id)
          assert.ok(status)
          states.add(status.state)
          assert.equal(status.result, status.state === 'completed' ? `of ${id}` : undefined)
          assert.equal(status.error !== undefined, status.state === 'failing')
          assert.equal(status.finishedAt !== undefined, status.state === 'completed')
          if (status.state === 'completed') break
          await new Promise((resolve) => setImmediate(resolve))
        }
      }
      assert.ok(states.size > 1, `only saw ${[...states].join()}`)
    })

    test('[Q4.25] [trap 15] createdAt stays through all states, attempts count up', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue({ backoff: { type: 'fixed', delayMs: 20 } })
      await queue.enqueue('a', 1, { maxAttempts: 3 })
      const first = await queue.getStatus('a')
      const seen: unknown[] = []
      queue.execute(async (job) => {
        const status = await queue.getStatus('a')
        seen.push([job.attempts, status?.attempts, job.createdAt, status?.createdAt, job.maxAttempts])
        throw new Error(`attempt ${job.attempts}`)
      })
      const failed = next(queue, 'failed')
      await queue.start()
      await failed
      const at = first!.createdAt
      assert.deepEqual(seen, [
        [1, 1, at, at, 3],
        [2, 2, at, at, 3],
        [3, 3, at, at, 3],
      ])
      const last = await queue.getStatus('a')
      assert.deepEqual([last?.attempts, last?.createdAt, last?.error?.message], [3, at, 'attempt 3'])
      const [record] = await storage.get([{ type: defaultType, id: 'a' }])
      assert.equal(record?.attempt, 3)
    })

    for (const state of ['completed', 'failed', 'cancelled'] as const) {
      test(`[Q4.26] updateResultTTL makes the time of a ${state} job longer, or shorter`, async (t) => {
        const { queue } = await jobIn(await bench(t, driver), state, { resultTTL: 60_000 })
        const before = await queue.getStatus('x')
        assert.deepEqual(await queue.updateResultTTL('x', 7_200_000), { status: 'updated' })
        const longer = await queue.getStatus('x')
        assert.ok(longer!.expiresAt! >= before!.finishedAt! + 7_200_000)
        assert.deepEqual({ ...longer, expiresAt: before!.expiresAt }, before)
        assert.deepEqual(await queue.updateResultTTL('x', 1), { status: 'updated' })
        await until(async () => (await queue.getStatus('x')) === null)
        assert.deepEqual(await queue.updateResultTTL('x', 1_000), { status: 'not_found' })
        assert.equal(await queue.getResult('x'), null)
      })
    }

    test('[Q4.26] a result outlives its first TTL, and with it the deduplication', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      let runs = 0
      queue.execute(() => ++runs)
      await queue.start()
      await queue.enqueueAndWait('a', 1, { resultTTL: 500 })
      assert.deepEqual(await queue.updateResultTTL('a', 60_000), { status: 'updated' })
      await queue.enqueueAndWait('control', 1, { resultTTL: 500 })
      await until(async () => (await queue.getStatus('control')) === null)
      assert.deepEqual(await queue.enqueue('a', 2), { status: 'completed', result: 1 })
      assert.equal(await queue.getResult('a'), 1)
    })

    for (const state of ['scheduled', 'blocked', 'queued', 'processing', 'failing'] as const) {
      test(`[Q4.26] updateResultTTL of a ${state} job: not_terminal, and nothing changes`, async (t) => {
        const b = await bench(t, driver)
        const { queue } = await jobIn(b, state)
        const look = () => b.storage.get([{ type: defaultType, id: 'x' }])
        const before = await look()
        assert.deepEqual(await queue.updateResultTTL('x', 5), { status: 'not_terminal' })
        assert.deepEqual(await look(), before)
      })
    }

    test('[Q4.26] updateResultTTL of an unknown id: not_found; the TTL is checked first', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      assert.deepEqual(await queue.updateResultTTL('unknown', 1_000), { status: 'not_found' })
      for (const ttl of [0, -1, 1.5, NaN, Infinity, '5']) {
        const invalid = { name: 'TypeError', code: 'INVALID_ARGUMENT', message: /^ttlMs: expected/ }
        await assert.rejects(queue.updateResultTTL('unknown', ttl as number), invalid)
        await assert.rejects(queue.updateResultTTL('', ttl as number), invalid)
      }
    })

    test("[Q4.27] TTL and attempts are the producer's, whatever the consumer's config says", async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const producer = newQueue({ maxRetries: 2, resultTTL: 50_000 })
      const consumer = newQueue({ maxRetries: 9, resultTTL: 1 })
      const attempts: unknown[] = []
      consumer.execute((job) => {
        attempts.push([job.id, job.attempts, job.maxAttempts])
        if (job.id.startsWith('bad')) throw new Error('never')
        return 'done'
      })
      await consumer.start()
      await producer.enqueue('good', 1)
      await producer.enqueue('bad', 1)
      await producer.enqueue('bad2', 1, { maxAttempts: 1, resultTTL: 40_000 })
      await producer.enqueueAndWait('good, own', 1, { resultTTL: 30_000 })
      await producer.enqueueAndWait('good, waited', 1)
      await producer.enqueue('good, own attempts', 1, { maxAttempts: 4 })
      const kept = async (id: string): Promise<unknown[]> => {
        await until(async () => (await producer.getStatus(id))?.finishedAt !== undefined, id)
        const status = await producer.getStatus(id)
        return [status?.state, status?.maxAttempts, status!.expiresAt! - status!.finishedAt!]
      }
      assert.deepEqual(await kept('good'), ['completed', 2, 50_000])
      assert.deepEqual(await kept('bad'), ['failed', 2, 50_000])
      assert.deepEqual(await kept('bad2'), ['failed', 1, 40_000])
      assert.deepEqual(await kept('good, own'), ['completed', 2, 30_000])
      assert.deepEqual(await kept('good, waited'), ['completed', 2, 50_000])
      assert.deepEqual(await kept('good, own attempts'), ['completed', 4, 50_000])
      assert.deepEqual(attempts.filter((entry) => (entry as string[])[0]!.startsWith('bad')).toSorted(), [
        ['bad', 1, 2],
        ['bad', 2, 2],
        ['bad2', 1, 1],
      ])
    })

    test('[Q4.27] [trap 26] two TTLs side by side', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      queue.execute((job) => job.id)
      await queue.start()
      await queue.enqueue('short', 1, { resultTTL: 30 })
      await queue.enqueueAndWait('long', 1, { resultTTL: 3_600_000 })
      await until(async () => (await queue.getStatus('short')) === null)
      assert.equal(await queue.getResult('long'), 'long')
    })
  })
}
