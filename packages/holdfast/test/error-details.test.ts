import assert from 'node:assert/strict'
import { test } from 'node:test'
import vm from 'node:vm'
import { HoldfastError } from 'holdfast'
import { asError, decodeError, encodeError, errorDetails, plainDetails } from '../src/error-details.ts'

const boom = (): never => {
  throw new Error('boom')
}
const json = (thrown: unknown): unknown => JSON.parse(Buffer.from(encodeError(thrown)).toString())

const causeOf = (cause: unknown): unknown => errorDetails(new Error('x', { cause })).cause
const read = (text: string): unknown => decodeError(Buffer.from(text))

test('asError: an Error is itself, also of another realm; all else comes wrapped, itself as the cause', () => {
  class Own extends Error {}
  for (const error of [new Error('x'), new Own(), vm.runInNewContext("new RangeError('x')")]) {
    assert.equal(asError(error), error)
  }
  for (const value of ['x', undefined, null, 0, {}, Symbol('s'), { message: 'like an error' }, boom]) {
    const error = asError(value)
    assert.ok(error instanceof Error && 'cause' in error)
    assert.equal(error.cause, value)
  }
})

test('asError: an Error whose message cannot be read comes wrapped too', () => {
  for (const error of [
    Object.defineProperty(new Error(), 'message', { get: boom }),
    Object.assign(new Error(), { message: Symbol('m') }),
    Object.assign(new Error(), { message: undefined }),
    new Proxy(new Error(), { get: boom }),
    new Proxy({}, { getPrototypeOf: boom }),
  ]) {
    const wrapped = asError(error)
    assert.notEqual(wrapped, error)
    assert.equal(wrapped.cause, error)
    assert.equal(typeof wrapped.message, 'string')
  }
})

test('[Q7.11] code is text; a name, stack or code of another kind is left out', () => {
  assert.equal(errorDetails(Object.assign(new Error('x'), { code: 7 })).code, '7')
  const odd = Object.assign(new Error('x'), { name: 5, stack: {}, code: [] })
  assert.deepEqual(errorDetails(odd), { message: 'x' })
  assert.deepEqual(errorDetails(Object.assign(new Error(''), { stack: undefined })), { name: 'Error', message: '' })
})

test('[Q7.11] a cause of any kind has its details; undefined is none', () => {
  assert.deepEqual(causeOf('text'), { message: 'text' })
  assert.deepEqual(causeOf(null), { message: 'null' })
  assert.deepEqual(causeOf({ toJSON: () => ({ a: 1, message: 'own' }) }), { a: 1, message: 'own' })
  assert.equal(causeOf(undefined), undefined)
  assert.equal(causeOf(Object.defineProperty(new Error(), 'cause', { get: boom })) !== undefined, true)
})

test('[Q7.11] an AggregateError has its errors, at most ten', () => {
  const many = Array.from({ length: 12 }, (_, number) => new Error(`e${number}`))
  const errors = errorDetails(new AggregateError(many, 'all failed')).errors?.map(({ message }) => message)
  assert.deepEqual(errors, ['e0', 'e1', 'e2', 'e3', 'e4', 'e5', 'e6', 'e7', 'e8', 'e9'])
  assert.equal('errors' in errorDetails(new AggregateError([], 'none')), false)
  assert.equal('errors' in errorDetails(Object.assign(new Error('x'), { errors: [1] })), false)
})

test('[Q7.11] a printable form has no stack of an error inside', () => {
  const { message } = errorDetails({ status: 5, inner: new Error('x') })
  assert.equal(message, '{ status: 5, inner: Error: x }')
})

test('[Q7.11] toJSON is asked once, and what it gave is copied', () => {
  let asked = 0
  const inner = { n: 1 }
  const error = {
    toJSON: () => {
      asked++
      return {
        inner,
        get odd() {
          return asked
        },
      }
    },
  }
  const details = errorDetails(error)
  inner.n = 2
  assert.deepEqual([details.inner, details.odd, asked], [{ n: 1 }, 1, 1])
})

test('[Q7.11] a toJSON that gives itself, or a thing with a toJSON of its own', () => {
  const self = Object.assign(new Error('x'), { field: 1, toJSON: () => self })
  assert.deepEqual(json(self), { field: 1, message: 'x' })
  const nested = { toJSON: () => ({ toJSON: () => 'text' }) }
  assert.equal(typeof errorDetails(nested).message, 'string')
})

test('plainDetails asks no toJSON, so an error may use it in its own', () => {
  const error: Error & { toJSON?: () => unknown } = new Error('x', { cause: new Error('y') })
  error.toJSON = () => ({ ...plainDetails(error), more: true })
  const { stack: _, cause, ...rest } = errorDetails(error)
  assert.deepEqual([rest, cause!.message], [{ name: 'Error', message: 'x', more: true }, 'y'])
  const loop: Error = new HoldfastError('TIMEOUT', 'a', { cause: new Error('b') })
  ;(loop.cause as Error).cause = loop
  assert.equal(errorDetails(loop).message, 'a')
})

test('[Q7.11] what fits is not cut, what does not is cut to 64 KiB', () => {
  const fits = { message: 'x'.repeat(65_000) }
  assert.deepEqual(json({ toJSON: () => fits }), fits)
  for (let size = 65_400; size < 65_600; size += 7) {
    const bytes = encodeError({ toJSON: () => ({ message: 'x'.repeat(size) }) })
    assert.ok(bytes.byteLength <= 65_536)
    const { message } = JSON.parse(Buffer.from(bytes).toString()) as { message: string }
    assert.ok(message.length === size || message.endsWith('…'))
  }
  const keys = Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`k${index}`, 0]))
  assert.deepEqual(json({ toJSON: () => ({ ...keys, message: 'the message stays' }) }), {
    message: 'the message stays',
  })
})

test('[Q7.11] bytes that somebody else wrote are shown as they are', () => {
  assert.deepEqual(read('{"message":"m","a":1}'), { message: 'm', a: 1 })
  for (const text of ['', 'plain', '{', '5', 'null', '[]', '{"a":1}', '{"message":5}', '{"message":{"toString":1}}']) {
    assert.deepEqual(read(text), { message: text })
  }
  assert.deepEqual(decodeError(undefined), { message: 'no error was recorded' })
  assert.equal(typeof decodeError(new Uint8Array([0xff, 0xfe])).message, 'string')
  assert.equal(decodeError(Buffer.alloc(5_000, 'x')).message.length, 1_000)
})
