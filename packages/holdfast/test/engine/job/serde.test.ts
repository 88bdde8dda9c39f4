import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createJsonSerde, JsonSerde, type Serde, SerializationError } from 'holdfast'
import { decode, encode } from '../../../src/engine/job/serde.ts'

const json = new JsonSerde<unknown>()

/** Text as bytes, always in the same buffer; counts its calls. */
function sharing(): Serde<string> & { calls: number } {
  const buffer = Buffer.alloc(100)
  return {
    calls: 0,
    serialize(value) {
      this.calls++
      return buffer.subarray(0, buffer.write(value))
    },
    deserialize(bytes) {
      this.calls++
      const text = bytes.toString()
      bytes.fill(0)
      return text
    },
  }
}

test('JSON there and back', () => {
  for (const value of [null, 0, '', false, 'é👍', [1, { a: [] }], { a: null }]) {
    for (const serde of [json, createJsonSerde<unknown>()]) {
      const bytes = serde.serialize(value)
      assert.ok(bytes instanceof Uint8Array)
      assert.deepEqual(serde.deserialize(Buffer.from(bytes)), value)
      assert.deepEqual(decode('result', serde, encode('result', serde, value, 100)), value)
    }
  }
})

test('[trap 1] undefined is absence, and no serde is asked; zero bytes are a value', () => {
  const serde = sharing()
  assert.equal(encode('payload', serde, undefined as never, 100), undefined)
  assert.equal(decode('payload', serde, undefined), undefined)
  assert.equal(serde.calls, 0)
  assert.deepEqual(encode('payload', serde, '', 100), new Uint8Array(0))
  assert.equal(decode('payload', serde, new Uint8Array(0)), '')
  assert.equal(serde.calls, 2)
})

test('a serde may use its buffer again', () => {
  const serde = sharing()
  const [one, two] = [encode('payload', serde, 'one', 100), encode('payload', serde, 'two', 100)]
  assert.deepEqual([decode('payload', serde, one), decode('payload', serde, two)], ['one', 'two'])
})

test('a serde may change the bytes that it is given', () => {
  const serde = sharing()
  const bytes = Buffer.from('kept')
  assert.equal(decode('payload', serde, bytes), 'kept')
  assert.equal(decode('payload', serde, bytes), 'kept')
})

test('a part of a larger buffer is read as that part', () => {
  assert.equal(decode('payload', json, Buffer.from('xx"a"xx').subarray(2, 5)), 'a')
})

test('[Q5.05] what cannot be encoded: SerializationError with what and cause', () => {
  for (const [value, cause] of [
    [1n, /BigInt/],
    [() => {}, /function/],
    [Symbol('s'), /symbol/],
  ] as const) {
    assert.throws(
      () => encode('result', json, value, 100),
      (error) => {
        assert.ok(error instanceof SerializationError)
        assert.equal(error.what, 'result')
        assert.match((error.cause as Error).message, cause)
        return true
      },
    )
  }
  const texts = { serialize: (value: unknown) => String(value) as never, deserialize: () => 0 }
  assert.throws(
    () => encode('payload', texts, 5, 100),
    (error) =>
      error instanceof SerializationError && /expected a Uint8Array, got "5"/.test((error.cause as Error).message),
  )
})

test('[Q7.07] what cannot be decoded: SerializationError with what and cause', () => {
  assert.throws(
    () => decode('payload', json, Buffer.from('{')),
    (error) => error instanceof SerializationError && error.what === 'payload' && error.cause instanceof SyntaxError,
  )
})

test('[Q5.06] the limit counts bytes, after encoding, and itself fits', () => {
  assert.equal(encode('payload', json, 'é', 4)?.byteLength, 4)
  assert.throws(() => encode('payload', json, 'é', 3), { code: 'TOO_LARGE', what: 'payload', size: 4, limit: 3 })
})
