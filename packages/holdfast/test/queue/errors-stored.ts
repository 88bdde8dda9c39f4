// What is stored of whatever a handler throws, and what readers are told.

import { storedType } from 'holdfast/storage'
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import vm from 'node:vm'
import { type ErrorDetails, JobFailedError, type Queue } from 'holdfast'
import { bench, next, type TestDriver } from './driver.ts'
import { reasonOf } from './error-checks.ts'
import { record } from './watched.ts'

/** Runs a job that fails for good with this, and one that fails once; gives what is stored of each. */
async function storedOf(queue: Queue<unknown, unknown>, make: () => unknown): Promise<[ErrorDetails, ErrorDetails]> {
  queue.execute(() => {
    throw make()
  })
  await queue.start()
  const error = await reasonOf(queue.enqueueAndWait('last', 1, { maxAttempts: 1 }))
  assert.ok(error instanceof JobFailedError)
  assert.equal(error.message, `Job 'last' failed: ${error.details.message}`)
  assert.deepEqual(JSON.parse(error.originalError), error.details)
  const failing = next(queue, 'failing')
  await queue.enqueue('first', 1, { maxAttempts: 2 })
  await failing
  const status = await queue.getStatus('first')
  assert.equal(status?.state, 'failing')
  return [error.details, status.error!]
}

const slowly = { backoff: { type: 'fixed', delayMs: 60_000 } } as const

class Wordless extends Error {
  override get message(): string {
    throw new Error('no')
  }
}

const boom = (): never => {
  throw new Error('boom')
}

const withToJSON = (json: unknown, of: object): object => Object.assign(of, { toJSON: () => json })

function cycle(): object {
  const object: Record<string, unknown> = {}
  object.inside = { object }
  return object
}

/** An object or a list: what no message should be. */
function isJson(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object'
  } catch {
    return false
  }
}

function long(text: string): Error {
  const message = text.repeat(200_000)
  return new Error(message, { cause: new Error(message) })
}

/** Each with the message that is stored, if that is certain. */
const thrown: Record<string, [make: () => unknown, message?: string]> = {
  'a string': [() => 'x', 'x'],
  'an empty string': [() => '', ''],
  undefined: [() => undefined, 'undefined'],
  null: [() => null, 'null'],
  'a number': [() => 42, '42'],
  'a BigInt': [() => 42n, '42n'],
  'a symbol': [() => Symbol('s'), 'Symbol(s)'],
  'an object': [() => ({ a: 1 }), '{ a: 1 }'],
  'an object without prototype': [() => Object.create(null)],
  'a function': [() => boom],
  'a promise': [() => new Promise(() => {})],
  'a cycle': [() => cycle()],
  'an object with throwing toString, valueOf, toJSON': [() => ({ toString: boom, valueOf: boom, toJSON: boom })],
  'an object with throwing getters': [() => Object.defineProperty({}, 'message', { get: boom, enumerable: true })],
  'an object that prints itself badly': [() => ({ [Symbol.for('nodejs.util.inspect.custom')]: boom })],
  'an error without words': [() => new Wordless(), 'an error whose message cannot be read'],
  'an error with a symbol for a message': [() => Object.assign(new Error(), { message: Symbol('m') }), 'Symbol(m)'],
  'an error with an object for a message': [() => Object.assign(new Error(), { message: Object.create(null) })],
  'an error with a throwing name, stack, code and cause': [
    () => {
      const get = { get: boom }
      return Object.defineProperties(new Error('still here'), { name: get, stack: get, code: get, cause: get })
    },
    'still here',
  ],
  'an error that is its own cause': [
    () => {
      const error = new Error('again')
      error.cause = error
      return error
    },
    'again',
  ],
  'a proxy whose traps throw': [() => new Proxy(new Error('x'), { get: boom, has: boom, getPrototypeOf: boom })],
  'a revoked proxy': [
    () => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return proxy
    },
  ],
  'an error of another realm': [() => vm.runInNewContext("new TypeError('foreign')"), 'foreign'],
  'an error whose toJSON throws': [() => Object.assign(new Error('x'), { toJSON: boom }), 'x'],
  'an error whose toJSON gives a cycle': [() => withToJSON(cycle(), new Error('x')), 'x'],
  'an error whose toJSON gives a string': [() => withToJSON('y', new Error('x')), 'x'],
  'an error whose toJSON gives an array': [() => withToJSON([1], new Error('x')), 'x'],
  'an error whose toJSON has an object for a message': [
    () => withToJSON({ message: { toString: 1 } }, new Error('x')),
    'x',
  ],
}

export function storedErrorTests(driver: TestDriver): void {
  describe(`${driver.name}: what is stored of an error`, () => {
    for (const [what, [make, message]] of Object.entries(thrown)) {
      test(`[Q7.11] [trap 3] [trap 16] thrown: ${what}`, async (t) => {
        const { queue: newQueue } = await bench(t, driver)
        const queue = newQueue(slowly)
        const emitted = record(queue)
        for (const details of await storedOf(queue, make)) {
          assert.equal(typeof details.message, 'string')
          if (message !== undefined) assert.equal(details.message, message)
          assert.ok(!details.message.includes('\n'))
          assert.ok(!isJson(details.message), details.message)
        }
        const [failed] = emitted.filter(([name]) => name === 'failed')
        assert.ok(failed)
        assert.deepEqual(
          emitted.filter(([name]) => name === 'error'),
          [],
        )
      })
    }

    test('[Q7.11] [trap 16] of an Error: name, message, code, stack, cause; of a non-Error: its printable form alone', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const cause = Object.assign(new RangeError('inner'), { code: 404 })
      const error = Object.assign(new TypeError('outer', { cause }), { code: 'E_OUT', extra: 'not kept' })
      const expected = {
        name: 'TypeError',
        message: 'outer',
        code: 'E_OUT',
        stack: error.stack,
        cause: { name: 'RangeError', message: 'inner', code: '404', stack: cause.stack },
      }
      for (const details of await storedOf(newQueue({ name: 'errors', ...slowly }), () => error)) {
        assert.deepEqual(details, expected)
      }
      for (const details of await storedOf(newQueue({ name: 'strings', ...slowly }), () => 'just text')) {
        assert.deepEqual(details, { message: 'just text' })
      }
    })

    test('[Q7.11] also behind afterExecution: what was thrown, or what the hook made of it', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const seen = newQueue({ name: 'seen', ...slowly, afterExecution: () => {} })
      const [last, first] = await storedOf(seen, () => 'just text')
      assert.deepEqual([last, first], [{ message: 'just text' }, { message: 'just text' }])
      const changed = newQueue({
        name: 'changed',
        ...slowly,
        afterExecution: (context) =>
          void (context.error = Object.assign(new Error('x'), { toJSON: () => ({ of: 'hook' }) })),
      })
      assert.deepEqual((await storedOf(changed, () => 'just text'))[0], { of: 'hook', message: 'x' })
    })

    test('[Q7.11] causes are stored five deep', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      let error = new Error('cause 9')
      for (let depth = 8; depth >= 0; depth--) error = new Error(`cause ${depth}`, { cause: error })
      for (const details of await storedOf(newQueue(slowly), () => error)) {
        const messages: string[] = []
        for (let each: ErrorDetails | undefined = details; each; each = each.cause) messages.push(each.message)
        assert.deepEqual(messages, ['cause 0', 'cause 1', 'cause 2', 'cause 3', 'cause 4', 'cause 5'])
      }
    })

    test('[Q7.11] [trap 16] a toJSON that returns an object: that object, with a message if it has none', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      for (const [name, error, expected] of [
        ['a', withToJSON({ status: 503, retry: [1] }, new Error('x')), { status: 503, retry: [1], message: 'x' }],
        [
          'b',
          withToJSON({ message: 'own', at: new Date(0) }, new Error('x')),
          { message: 'own', at: new Date(0).toJSON() },
        ],
        ['c', withToJSON({ message: 'no error' }, {}), { message: 'no error' }],
        ['d', withToJSON({ n: 5n }, new Error('x')), { n: '5', message: 'x' }],
      ] as const) {
        for (const details of await storedOf(newQueue({ name, ...slowly }), () => error)) {
          assert.deepEqual(details, expected)
        }
      }
      const outer = new Error('outer', { cause: withToJSON({ status: 1 }, new Error('inner')) })
      for (const details of await storedOf(newQueue({ name: 'e', ...slowly }), () => outer)) {
        assert.deepEqual(details.cause, { status: 1, message: 'inner' })
      }
    })

    test('[Q7.11] at most 64 KiB, cut inside strings, and still JSON', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key ${index}`, index]))
      for (const [name, make] of [
        ['ascii', () => long('x')],
        // Odd by one, so that a cut falls into a pair.
        ['wide', () => new Error(`x${'👍'.repeat(200_000)}`)],
        ['escaped', () => long('\u0001')],
        ['a string', () => 'é'.repeat(100_000)],
        ['many fields', () => Object.assign(new Error('of many'), { toJSON: () => many })],
        [
          'many long fields',
          () => ({ toJSON: () => ({ message: 'm', list: Array.from({ length: 50 }, () => 'x'.repeat(9_999)) }) }),
        ],
      ] as const) {
        const queue = newQueue({ name, ...slowly })
        for (const details of await storedOf(queue, make)) assert.ok(details.message.length > 0, name)
        for (const id of ['last', 'first']) {
          const [stored] = await storage.get([{ type: storedType('queue', name), id }], { parts: ['error'] })
          const text = Buffer.from(stored!.error!).toString()
          assert.ok(stored!.error!.byteLength <= 65_536, `${name}: ${stored!.error!.byteLength} bytes`)
          const { message, cause } = JSON.parse(text) as ErrorDetails
          assert.ok(message.isWellFormed(), name)
          if (name === 'ascii')
            assert.ok(/^x+…$/.test(message) && /^x+…$/.test(cause!.message) && message.length > 5_000)
          if (name === 'many long fields') assert.equal(message, 'm')
          if (name === 'many fields') assert.equal(message, 'of many')
        }
      }
    })
  })
}
