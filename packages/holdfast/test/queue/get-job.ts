// get and logs: the whole job, for people.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Serde } from 'holdfast'
import { defaultType, type Storage } from 'holdfast/storage'
import { encodeLine } from '../../src/engine/job/log-lines.ts'
import { bench, next, type TestDriver, until } from './driver.ts'
import { jobIn } from './states.ts'

/** Claims the job in the place of a worker. */
async function claim(storage: Storage): Promise<{ type: string; id: string; worker: string; attempt: number }> {
  await storage.connect()
  const request = { worker: `by hand/${Math.random()}`, label: 'by hand', slots: 1 }
  const { jobs } = await storage.claim({ ...request, types: [{ type: defaultType, leaseMs: 60_000 }] })
  const { type, id, worker, attempt } = jobs[0]!
  return { type, id, worker, attempt }
}

const line = (number: number) => ({ at: 1_000 + number, line: encodeLine(`line ${number}`, { number }) })

export function getJobTests(driver: TestDriver): void {
  describe(`${driver.name}: get and logs`, () => {
    test('[F28] a waiting job with all its options', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<{ n: number; at: Date }, string>({ name: 'mail' })
      const payload = { n: 1, at: new Date(5) }
      await queue.enqueue('a', payload, {
        delayMs: 600_000,
        priority: 3,
        maxAttempts: 4,
        timeoutMs: 5_000,
        expiresInMs: 900_000,
        group: { key: 'g', ordered: true },
        deduplication: { key: 'k' },
        search: { customer: 'c-1' },
      })
      const job = (await queue.get('a'))!
      assert.deepEqual(job, {
        face: 'queue',
        name: 'mail',
        id: 'a',
        state: 'scheduled',
        payload,
        attempts: 0,
        maxAttempts: 4,
        snoozes: 0,
        history: [],
        createdAt: job.createdAt,
        runAt: job.createdAt + 600_000,
        deadlineAt: job.createdAt + 900_000,
        priority: 3,
        group: 'g',
        deduplicationKey: 'k',
        search: { customer: 'c-1' },
        timeoutMs: 5_000,
      })
      assert.equal(await queue.get('unknown'), null)
    })

    test('[F12] [F28] a failed job: its error, its runs and its times; a completed one: its result', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<string, string>({ workerId: 'w-1', maxAttempts: 2 })
      queue.execute(({ id, attempts }) => {
        if (id === 'bad' || attempts === 1) throw Object.assign(new RangeError(`attempt ${attempts}`), { code: 'E1' })
        return 'done'
      })
      await queue.start()
      const failed = next(queue, 'failed')
      await queue.enqueue('bad', 'payload')
      await failed
      const bad = (await queue.get('bad'))!
      assert.deepEqual([bad.state, bad.payload, bad.attempts, bad.workerId], ['failed', 'payload', 2, 'w-1'])
      assert.deepEqual([bad.error?.name, bad.error?.message, bad.error?.code], ['RangeError', 'attempt 2', 'E1'])
      assert.deepEqual(
        bad.history.map(({ attempt, workerId, outcome, state, error }) => [
          attempt,
          workerId,
          outcome,
          state,
          error?.message,
        ]),
        [
          [1, 'w-1', 'retry', 'failing', 'attempt 1'],
          [2, 'w-1', 'failed', 'failed', 'attempt 2'],
        ],
      )
      for (const { startedAt, endedAt } of bad.history) assert.ok(bad.createdAt <= startedAt && startedAt <= endedAt)
      assert.ok(bad.startedAt! <= bad.finishedAt! && bad.finishedAt! < bad.expiresAt!)

      assert.equal(await queue.enqueueAndWait('good', 'payload'), 'done')
      const good = (await queue.get('good'))!
      assert.deepEqual([good.state, good.result, good.attempts, good.error], ['completed', 'done', 2, undefined])
      assert.deepEqual(
        good.history.map(({ outcome }) => outcome),
        ['retry', 'completed'],
      )
    })

    test('[F28] a running job: its worker, its lease, and whether it is asked to stop', async (t) => {
      const b = await bench(t, driver)
      const { queue } = await jobIn(b, 'processing', { workerId: 'w-1' })
      const job = (await queue.get('x'))!
      assert.deepEqual([job.state, job.attempts, job.workerId, job.cancelling], ['processing', 1, 'w-1', undefined])
      assert.ok(job.leaseUntil! > job.startedAt!)
      await queue.cancel('x', { abort: true, reason: 'why not' })
      const asked = (await queue.get('x'))!
      assert.deepEqual([asked.cancelling, asked.cancelReason], [true, 'why not'])
    })

    test('[F28] a payload or result that cannot be decoded is shown as bytes, with the reason', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const [queue, reader] = [newQueue({ payloadSerde: text, resultSerde: text }), newQueue()]
      queue.execute(() => 'no JSON either')
      await queue.start()
      await queue.enqueueAndWait('a', 'no JSON')
      const job = (await reader.get('a'))!
      assert.deepEqual([job.state, job.payload, job.result], ['completed', undefined, undefined])
      const { payload, result } = job.undecodable!
      assert.equal(Buffer.from(payload!.bytes).toString(), 'no JSON')
      assert.match(payload!.reason, /^the stored payload cannot be decoded: ./)
      assert.equal(Buffer.from(result!.bytes).toString(), 'no JSON either')
      assert.match(result!.reason, /^the stored result cannot be decoded: ./)
      assert.equal((await queue.get('a'))?.undecodable, undefined)
    })

    test('[F27] progress and log lines of a running job can be read from another queue', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      await queue.enqueue('a', 1)
      assert.deepEqual(await queue.logs('a'), { lines: [], dropped: 0 })
      const lease = await claim(storage)
      await storage.extend([
        { ...lease, leaseMs: 60_000, progress: Buffer.from('{"done":5}'), log: [line(1), line(2)] },
      ])
      assert.deepEqual((await queue.get('a'))?.progress, { done: 5 })
      assert.deepEqual(await queue.logs('a'), {
        lines: [1, 2].map((number) => ({
          number,
          at: 1_000 + number,
          attempt: 1,
          text: `line ${number}`,
          fields: { number },
        })),
        dropped: 0,
      })
      await storage.settle([{ ...lease, kind: 'retry', log: [{ at: 1_003, line: encodeLine('failed') }] }])
      const again = await claim(storage)
      await storage.extend([{ ...again, leaseMs: 60_000, progress: Buffer.from('no JSON'), log: [line(4)] }])
      const numbers = async (options?: { attempt?: number; after?: number }): Promise<number[]> =>
        (await queue.logs('a', options))!.lines.map(({ number }) => number)
      assert.deepEqual(await numbers(), [1, 2, 3, 4])
      assert.deepEqual(await numbers({ after: 2 }), [3, 4])
      assert.deepEqual(await numbers({ attempt: 2 }), [4])
      assert.deepEqual(await numbers({ attempt: 1, after: 1 }), [2, 3])
      assert.deepEqual(await numbers({ after: 4 }), [])
      const job = (await queue.get('a'))!
      assert.equal(job.progress, undefined)
      assert.equal(Buffer.from(job.undecodable!.progress!.bytes).toString(), 'no JSON')
      assert.equal(await queue.logs('unknown'), null)
      await storage.disconnect()
    })

    test('[F27] lines that were deleted are counted, and the others keep their numbers', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      await queue.enqueue('a', 1)
      const lease = await claim(storage)
      const log = Array.from({ length: 1_010 }, (_, index) => ({ at: index, line: encodeLine(`l${index}`) }))
      await storage.extend([{ ...lease, leaseMs: 60_000, log }])
      const { lines, dropped } = (await queue.logs('a', { after: 1_008 }))!
      assert.equal(dropped, 10)
      assert.deepEqual(
        lines.map(({ number, text: said }) => [number, said]),
        [
          [1_009, 'l1008'],
          [1_010, 'l1009'],
        ],
      )
      await storage.disconnect()
    })

    test('[F27] options of logs are checked', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      for (const options of [{ attempt: 0 }, { after: -1 }, { after: 1.5 }, { since: 5 }]) {
        await assert.rejects(queue.logs('a', options as object), { code: 'INVALID_ARGUMENT' })
      }
      await until(async () => (await queue.logs('a')) === null)
    })
  })
}

/** No JSON. */
const text: Serde<unknown> = {
  serialize: (value) => Buffer.from(String(value)),
  deserialize: (bytes) => bytes.toString(),
}
