// What passes through a serde, and what does not.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Reaper, type Serde } from 'holdfast'
import { bench, gate, next, type TestDriver, until } from './driver.ts'
import { defaultType } from 'holdfast/storage'

const raw: Serde<Buffer> = { serialize: (bytes) => bytes, deserialize: (bytes) => bytes }
const allBytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
const backwards = Buffer.from(Array.from({ length: 256 }, (_, byte) => 255 - byte))

export function byteTests(driver: TestDriver): void {
  describe(`${driver.name}: bytes`, () => {
    test('[trap 27] all 256 byte values survive add, claim, retry, take-back, result and wait', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const worker = queue<Buffer, Buffer>({ payloadSerde: raw, resultSerde: raw, maxRetries: 4 })
      const payloads: Buffer[] = []
      const held = gate()
      worker.execute(async ({ payload, attempts, signal }) => {
        payloads.push(Buffer.from(payload))
        // What one attempt does to its payload is no matter of the next.
        payload.fill(0)
        if (attempts === 1) throw new Error('once more')
        if (attempts === 2) {
          signal.addEventListener('abort', () => held.resolve())
          await held.promise
        }
        return Buffer.from(backwards)
      })
      await worker.start()
      const waited = worker.enqueueAndWait('a', Buffer.from(allBytes))
      await until(() => payloads.length === 2)
      await until(async () => (await storage.recover({ types: [defaultType], limit: 1, olderThanMs: 0 })).length === 1)
      assert.deepEqual(await waited, backwards)
      assert.deepEqual(await worker.getResult('a'), backwards)
      assert.deepEqual(await worker.enqueue('a', Buffer.alloc(0)), {
        status: 'completed',
        result: backwards,
      })
      assert.deepEqual(payloads, [allBytes, allBytes, allBytes])
    })

    test('[trap 27] so do zero bytes, and long ones', async (t) => {
      const { queue } = await bench(t, driver)
      const worker = queue<Buffer, Buffer>({ payloadSerde: raw, resultSerde: raw })
      worker.execute(({ payload }) => payload)
      await worker.start()
      for (const [id, bytes] of [
        ['none', Buffer.alloc(0)],
        ['long', Buffer.alloc(1_000_000, allBytes)],
      ] as const) {
        assert.ok(bytes.equals(await worker.enqueueAndWait(id, bytes)), id)
      }
    })

    test('[trap 19] a serde sees the payload or the result, and nothing else', async (t) => {
      const { queue } = await bench(t, driver)
      const worker = queue<{ a: string; b: string }, { c: string }>({
        payloadSerde: strict(['a', 'b']),
        resultSerde: strict(['c']),
        maxRetries: 3,
        afterExecution: (context) => {
          context.ttl = 60_000
        },
      })
      const errors: Error[] = []
      worker.on('error', (error) => errors.push(error))
      worker.execute(({ payload, attempts }) => {
        if (attempts < 3) throw new Error('once more')
        return { c: payload.a + payload.b }
      })
      await worker.start()
      assert.deepEqual(await worker.enqueueAndWait('x', { a: '1', b: '2' }), { c: '12' })
      assert.deepEqual((await worker.getStatus('x'))!.result, { c: '12' })
      assert.deepEqual(errors, [])
    })

    test('[trap 19] the Reaper needs no serde', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const worker = queue<Buffer, string>({ payloadSerde: raw })
      worker.execute(({ payload, attempts, signal }) => {
        if (attempts > 1) return payload.toString()
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('told'))))
      })
      // Longer than the second attempt takes on a busy machine: it would be taken back, too.
      const reaper = new Reaper({ storage, visibilityTimeout: 1_000 })
      t.after(() => reaper.stop())
      const errors: Error[] = []
      reaper.on('error', (error) => errors.push(error))
      await worker.start()
      await reaper.start()
      const fenced = next(worker, 'fenced')
      assert.equal(await worker.enqueueAndWait('x', Buffer.from('payload')), 'payload')
      await fenced
      await reaper.stop()
      assert.deepEqual(errors, [])
    })
  })
}

/** Knows these fields, and fails on any other. */
const strict = <T extends object>(fields: readonly (keyof T & string)[]): Serde<T> => ({
  serialize: (value) => {
    assert.deepEqual(Object.keys(value), fields)
    return Buffer.from(fields.map((field) => String(value[field])).join('|'))
  },
  deserialize: (bytes) => {
    const parts = bytes.toString().split('|')
    assert.equal(parts.length, fields.length)
    return Object.fromEntries(fields.map((field, index) => [field, parts[index]])) as T
  },
})
