// Whatever a handler returns or throws, and whatever bytes stand for it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { JobFailedError, type Serde, SerializationError } from 'holdfast'
import { bench, next, type TestDriver, until } from './driver.ts'
import { defaultType } from 'holdfast/storage'

export function anyValueTests(driver: TestDriver): void {
  describe(`${driver.name}: any value`, () => {
    for (const [what, value] of [
      ['nothing', undefined],
      ['null', null],
      ['an empty string', ''],
      ['0', 0],
      ['false', false],
    ] as const) {
      test(`[trap 1] a handler that returns ${what} completes, once, and everybody is told so`, async (t) => {
        const { queue } = await bench(t, driver)
        const worker = queue<string, unknown>()
        let runs = 0
        worker.execute(() => {
          runs++
          return value
        })
        await worker.start()
        const producer = queue<string, unknown>()
        assert.equal(await producer.enqueueAndWait('a', ''), value)
        assert.deepEqual(await producer.enqueue('a', ''), { status: 'completed', result: value })
        assert.equal(await producer.enqueueAndWait('a', '', { timeout: 0 }), value)
        assert.equal(await producer.getResult('a'), value)
        const status = await producer.getStatus('a')
        assert.deepEqual([status!.state, status!.attempts, status!.result], ['completed', 1, value])
        assert.equal(runs, 1)
      })
    }

    test('[trap 1] a result of zero bytes is a value: its serde is asked, and it completes', async (t) => {
      const { queue } = await bench(t, driver)
      const resultSerde: Serde<string> = {
        serialize: (value) => Buffer.from(value === 'empty' ? '' : value),
        deserialize: (bytes) => (bytes.length === 0 ? 'empty' : bytes.toString()),
      }
      const worker = queue<string, string>({ resultSerde })
      let runs = 0
      worker.execute(() => {
        runs++
        return 'empty'
      })
      await worker.start()
      assert.equal(await worker.enqueueAndWait('a', ''), 'empty')
      assert.deepEqual(await worker.enqueue('a', ''), { status: 'completed', result: 'empty' })
      assert.equal(await worker.getResult('a'), 'empty')
      assert.equal(runs, 1)
    })

    for (const [what, thrown] of unreadable()) {
      test(`[trap 3] a handler may throw ${what}`, async (t) => {
        const { queue } = await bench(t, driver)
        const worker = queue<string, string>({ maxRetries: 2 })
        const seen: string[] = []
        worker.on('failing', (_id, error, attempt) => seen.push(`failing ${attempt} ${error instanceof Error}`))
        worker.on('failed', (_id, error) => seen.push(`failed ${error.attempts} ${error.lastError instanceof Error}`))
        worker.execute(({ payload }) => {
          if (payload === 'good') return 'fine'
          throw thrown()
        })
        await worker.start()
        await assert.rejects(worker.enqueueAndWait('a', 'bad'), (error) => {
          assert.ok(error instanceof JobFailedError)
          assert.equal(typeof error.details.message, 'string')
          assert.equal(error.attempts, 2)
          return true
        })
        assert.equal(await worker.enqueueAndWait('b', 'good'), 'fine', 'its slot is free')
        assert.deepEqual(seen, ['failing 1 true', 'failed 2 true'])
        assert.equal((await worker.getStatus('a'))!.state, 'failed')
      })
    }

    test('[trap 3] a promise may be rejected with anything, and a callback called with anything', async (t) => {
      const { queue } = await bench(t, driver)
      for (const [index, [, thrown]] of unreadable().entries()) {
        const rejecting = queue<string, string>({ name: `rejecting ${index}`, maxRetries: 1 })
        rejecting.execute(async () => {
          throw thrown()
        })
        await rejecting.start()
        await assert.rejects(rejecting.enqueueAndWait('a', ''), { code: 'JOB_FAILED' })
        const value = thrown()
        if (value === undefined || value === null) continue
        const calling = queue<string, string>({ name: `calling ${index}`, maxRetries: 1 })
        calling.execute((_job, callback) => callback(value as Error))
        await calling.start()
        await assert.rejects(calling.enqueueAndWait('a', ''), { code: 'JOB_FAILED' })
      }
    })

    test('[trap 4] a result that the caller cannot decode hurts that caller alone', async (t) => {
      const { queue } = await bench(t, driver)
      const worker = queue<string, string>({ concurrency: 4 })
      worker.execute(({ payload }) => payload)
      const strict: Serde<string> = {
        serialize: (value) => Buffer.from(JSON.stringify(value)),
        deserialize: (bytes) => {
          const value = JSON.parse(bytes.toString()) as string
          if (value === 'foreign') throw new Error('not ours')
          return value
        },
      }
      const producer = queue<string, string>({ resultSerde: strict })
      const waits = ['a', 'foreign', 'b'].map((payload) => producer.enqueueAndWait(payload, payload))
      const settled = Promise.allSettled(waits)
      await worker.start()
      const [a, foreign, b] = await settled
      assert.deepEqual([a, b], [fulfilled('a'), fulfilled('b')])
      assert.ok(foreign!.status === 'rejected' && foreign!.reason instanceof SerializationError)
      assert.equal(foreign!.reason.what, 'result')
      await assert.rejects(producer.enqueue('foreign', ''), { code: 'SERIALIZATION_ERROR' })
      await assert.rejects(producer.getResult('foreign'), { code: 'SERIALIZATION_ERROR' })
      assert.equal(await worker.getResult('foreign'), 'foreign', 'the job itself is well')
    })

    test('[trap 16] JobFailedError says in plain words what happened; its originalError is JSON', async (t) => {
      const { queue } = await bench(t, driver)
      class Coded extends Error {
        toJSON(): object {
          return { kind: 'coded', retryable: false }
        }
      }
      const thrown: readonly [unknown, string][] = [
        [new Error('plain words'), 'plain words'],
        [new TypeError('with cause', { cause: new Error('inner') }), 'with cause'],
        [new Coded('own form'), 'own form'],
        ['only text', 'only text'],
        [undefined, 'undefined'],
        [{ reason: 'an object' }, ''],
      ]
      const worker = queue<number, void>({ maxRetries: 1 })
      worker.execute(({ payload }) => {
        throw thrown[payload]![0]
      })
      await worker.start()
      for (const [index, [, words]] of thrown.entries()) {
        await assert.rejects(worker.enqueueAndWait(`x${index}`, index), (error) => {
          assert.ok(error instanceof JobFailedError)
          if (words !== '') assert.equal(error.message, `Job 'x${index}' failed: ${words}`)
          assert.doesNotMatch(error.message, /[{"]\w+":| at .*:\d+:\d+/, 'neither JSON nor a stack')
          assert.deepEqual(JSON.parse(error.originalError), error.details)
          assert.equal(typeof error.details.message, 'string')
          return true
        })
      }
      const own = (await worker.getStatus('x2'))!.error!
      assert.deepEqual([own.kind, own.retryable, own.message], ['coded', false, 'own form'])
    })

    test('[trap 24] a payload that cannot be decoded delays no other job, and ends', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const foreign = queue<Buffer>({ payloadSerde: { serialize: (bytes) => bytes, deserialize: (bytes) => bytes } })
      await foreign.enqueue('bad', Buffer.from([0xff, 0xfe, 0x00, 0x7b]), { maxAttempts: 3 })
      const worker = queue<{ n: number }, number>({ backoff: { type: 'fixed', delayMs: 50 } })
      const failing: number[] = []
      worker.on('failing', (_id, error, attempt) => {
        assert.ok(error instanceof SerializationError)
        failing.push(attempt)
      })
      worker.execute(({ payload }) => payload.n)
      for (let n = 0; n < 100; n++) await worker.enqueue(`good${n}`, { n })
      const order: string[] = []
      worker.on('completed', (id) => order.push(id))
      const failed = next(worker, 'failed')
      await worker.start()
      const [id, error] = await failed
      assert.equal(id, 'bad')
      assert.equal(error.payload, undefined)
      await until(() => order.length === 100)
      assert.deepEqual(
        order,
        Array.from({ length: 100 }, (_, n) => `good${n}`),
      )
      assert.deepEqual(failing, [1, 2])
      const status = await worker.getStatus('bad')
      assert.deepEqual([status!.state, status!.error!.code], ['failed', 'SERIALIZATION_ERROR'])
      const [counts] = (await storage.count({ types: [defaultType] })).types
      assert.deepEqual([counts!.states.processing, counts!.states.queued, counts!.states.failing], [0, 0, 0])
    })
  })
}

const fulfilled = <T>(value: T): PromiseSettledResult<T> => ({ status: 'fulfilled', value })

/** Values that no handler should throw. Created anew each time. */
function unreadable(): (readonly [string, () => unknown])[] {
  return [
    ['a string', () => 'x'],
    ['undefined', () => undefined],
    ['null', () => null],
    ['a symbol', () => Symbol('s')],
    ['an object without a prototype', () => Object.create(null)],
    ['an object whose toString and getters throw', () => Object.defineProperties({ toString: refuse }, getters)],
    ['an Error whose message throws', () => Object.defineProperties(new Error('x'), getters)],
    ['an Error whose message is no string', () => Object.assign(new Error('x'), { message: Symbol('s') })],
    ['a revoked proxy', revoked],
    ['a cycle', cycle],
  ]
}

function refuse(): never {
  throw new Error('do not look')
}

const getters: PropertyDescriptorMap = {
  message: { get: refuse, enumerable: true },
  stack: { get: refuse, enumerable: true },
  code: { get: refuse, enumerable: true },
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function cycle(): object {
  const value: Record<string, unknown> = {}
  value.self = value
  return value
}
