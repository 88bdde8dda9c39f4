// Dead letters: a job that fails for good adds a job to another queue.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type DeadLetter, fail, Reaper, snooze } from 'holdfast'
import { storedType } from 'holdfast/storage'
import { bench, gate, next, type TestDriver, until } from './driver.ts'
import { faulty } from './faulty-storage.ts'

const mail = { name: 'mail', deadLetter: 'dead-mail' } as const

export function deadLetterTests(driver: TestDriver): void {
  describe(`${driver.name}: dead letters`, () => {
    test('[F28] a job that fails for good is a job of the other queue, with payload and error', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<{ to: string; at: Date }>({ ...mail, maxAttempts: 2 })
      const dead = newQueue<DeadLetter<{ to: string }>, unknown>({ name: 'dead-mail' })
      const letter = gate<DeadLetter<{ to: string }>>()
      dead.execute((job) => {
        letter.resolve(job.payload)
        return job.id
      })
      queue.execute(() => {
        throw new RangeError('no such address')
      })
      await Promise.all([queue.start(), dead.start()])
      const payload = { to: 'ada', at: new Date(5) }
      await queue.enqueue('m-1', payload)
      const { error, failedAt, ...rest } = await letter.promise
      assert.deepEqual(rest, { id: 'm-1', queue: 'mail', payload, attempts: 2 })
      assert.deepEqual([error.name, error.message], ['RangeError', 'no such address'])
      const status = await queue.getStatus('m-1')
      assert.equal(status!.state, 'failed')
      assert.ok(Math.abs(failedAt - status!.finishedAt!) < 60_000)
      await until(async () => (await dead.getResult('m-1')) === 'm-1', 'the letter is handled')
    })

    test('[F28] it is added with the failure: no call of its own', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue<number>({ ...mail, storage: line.storage, maxAttempts: 1 })
      queue.execute(() => fail('no'))
      const failed = next(queue, 'failed')
      await queue.start()
      await queue.enqueue('m-1', 1)
      await failed
      assert.equal(line.count('add'), 1)
      const [record] = await storage.get([{ type: storedType('queue', 'dead-mail'), id: 'm-1' }])
      assert.equal(record!.state, 'queued')
    })

    test('[F28] a run over its timeoutMs, too', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<number>({ ...mail, maxAttempts: 1, timeoutMs: 50 })
      queue.execute(() => new Promise(() => {}))
      const failed = next(queue, 'failed')
      await queue.start()
      await queue.enqueue('m-1', 1)
      await failed
      const dead = newQueue<DeadLetter<number>, string>({ name: 'dead-mail' })
      dead.execute(({ payload }) => `${payload.payload} ${payload.error.code}`)
      await dead.start()
      await until(async () => (await dead.getResult('m-1')) === '1 STALLED', 'the letter')
    })

    test('[F28] of a job that the storage ended, the worker that learns of it adds the letter', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue<number>({ ...mail, maxAttempts: 1 })
      await queue.enqueue('m-1', 7)
      const types = [{ type: storedType('queue', 'mail'), leaseMs: 50, maxAttempts: 1 }]
      const lost = await storage.claim({ worker: 'dies', slots: 1, types })
      assert.equal(lost.jobs.length, 1)
      const failed = next(queue, 'failed')
      queue.execute(() => {})
      await queue.start()
      await failed
      const dead = newQueue<DeadLetter<number>, unknown>({ name: 'dead-mail' })
      dead.execute(({ payload }) => [payload.payload, payload.attempts, payload.error.code])
      await dead.start()
      await until(async () => (await dead.getResult('m-1')) !== null, 'the letter')
      assert.deepEqual(await dead.getResult('m-1'), [7, 1, 'STALLED'])
    })

    test('[F28] a Reaper that takes back the last attempt adds the letter, of its queues only', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const reaper = new Reaper({ storage, name: ['mail', 'fax'], timeoutMs: 40, deadLetter: 'dead-mail' })
      t.after(() => reaper.stop())
      for (const [name, maxAttempts] of Object.entries({ mail: 1, fax: 2 })) {
        await newQueue<number>({ name, maxAttempts }).enqueue(`of ${name}`, 7)
        const types = [{ type: storedType('queue', name), leaseMs: 600_000 }]
        assert.equal((await storage.claim({ worker: `dead/${name}`, slots: 1, types })).jobs.length, 1)
      }
      const stalled: string[] = []
      reaper.on('stalled', (id) => stalled.push(id))
      await reaper.start()
      await until(() => stalled.length === 2, 'both are taken back')
      await reaper.stop()
      const dead = newQueue<DeadLetter<number>>({ name: 'dead-mail' })
      const { items } = await dead.list({ payload: true })
      assert.deepEqual(
        items.map(({ payload: letter }) => {
          const { id, queue, payload, attempts, error } = letter!
          return [id, queue, payload, attempts, error.code]
        }),
        [['of mail', 'mail', 7, 1, 'STALLED']],
      )
    })

    test('[F28] no other end adds one: completed, retried, snoozed, cancelled', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue<string>({ ...mail, maxAttempts: 2, concurrency: 4 })
      const running = gate()
      queue.execute(async ({ payload, attempts, signal }) => {
        if (payload === 'retried' && attempts === 1) throw new Error('again')
        if (payload === 'snoozed') return snooze({ delayMs: 600_000 })
        if (payload !== 'cancelled') return undefined
        running.resolve()
        return new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      })
      await queue.start()
      for (const id of ['completed', 'retried', 'snoozed', 'cancelled']) await queue.enqueue(id, id)
      await running.promise
      const cancelled = next(queue, 'cancelled')
      await queue.cancel('cancelled', { abort: true })
      await cancelled
      await until(async () => (await queue.getStatus('retried'))?.state === 'completed')
      await until(async () => (await queue.getStatus('snoozed'))?.state === 'scheduled')
      const { items } = await storage.list({ of: 'jobs', types: [storedType('queue', 'dead-mail')], limit: 10 })
      assert.deepEqual(items, [])
    })

    test('[F28] a letter that waits stays when its job fails again', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue<number>({ ...mail, maxAttempts: 1 })
      queue.execute(({ payload }) => fail(`no ${payload}`))
      await queue.start()
      for (const payload of [1, 2]) {
        const failed = next(queue, 'failed')
        await queue.enqueue('m-1', payload)
        await failed
      }
      const { items } = await storage.list({
        of: 'jobs',
        types: [storedType('queue', 'dead-mail')],
        limit: 10,
        parts: ['payload'],
      })
      assert.equal(items.length, 1)
      assert.match(Buffer.from(items[0]!.payload!).toString(), /"message":"no 1"/)
    })

    test('[F28] a payload that the default codec cannot store is in the letter as its bytes', async (t) => {
      class Money {
        readonly cents: number
        constructor(cents: number) {
          this.cents = cents
        }
      }
      const payloadSerde = {
        serialize: ({ cents }: Money) => Buffer.from(`${cents}`),
        deserialize: (bytes: Buffer) => new Money(Number(bytes.toString())),
      }
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue<Money>({ ...mail, payloadSerde, maxAttempts: 1 })
      const dead = newQueue<DeadLetter<Uint8Array>, string>({ name: 'dead-mail' })
      queue.execute(() => fail('no'))
      dead.execute(({ payload }) => Buffer.from(payload.payload).toString())
      await Promise.all([queue.start(), dead.start()])
      await queue.enqueue('m-1', new Money(250))
      await until(async () => (await dead.getResult('m-1')) === '250', 'the letter')
    })

    test('[F28] a queue is not its own dead letter queue, and a Reaper has a serde for letters only', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      assert.throws(() => new Reaper({ storage, name: ['fax', 'mail'], deadLetter: 'mail' }), {
        code: 'INVALID_ARGUMENT',
        message: 'deadLetter: expected the name of another queue, got "mail"',
      })
      const payloadSerde = { serialize: () => new Uint8Array(), deserialize: () => 0 }
      assert.throws(() => new Reaper({ storage, payloadSerde }), { code: 'INVALID_ARGUMENT', message: /deadLetter/ })
      assert.throws(() => newQueue({ name: 'mail', deadLetter: 'mail' }), {
        code: 'INVALID_ARGUMENT',
        message: 'deadLetter: expected the name of another queue, got "mail"',
      })
      assert.throws(() => newQueue({ deadLetter: '' }), { code: 'INVALID_ARGUMENT' })
    })
  })
}
