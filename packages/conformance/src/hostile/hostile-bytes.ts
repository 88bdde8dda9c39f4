// Bytes: payload, result and error are returned unchanged with all 256 values, and no bytes differ from zero bytes.

import assert from 'node:assert/strict'
import type { Bytes, NewJob } from 'holdfast/storage'
import { bytes } from '../case.ts'
import type { Case } from '../case.ts'
import { complete, settleOutcome } from '../outcomes.ts'
import { byteValues, fenceOf, recordOf, refOf } from '../records.ts'

const all: Bytes = Uint8Array.from({ length: 256 }, (_, index) => index)

/** Bytes that a storage may misread. */
const odd: readonly (readonly [string, Bytes])[] = [
  ['all 256 values', all],
  ['zero bytes', new Uint8Array()],
  ['one NUL', new Uint8Array([0])],
  ['bytes that are not UTF-8', new Uint8Array([0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80])],
  ['the text null', bytes('null')],
  ['JSON with odd numbers', bytes('{"a":1e21,"b":-0,"c":12345678901234567890,"a":1.0, "__proto__":{"polluted":1}}')],
  ['line ends and a byte order mark', bytes('\ufeffa\r\nb\n\n')],
  ['a million bytes', new Uint8Array(1_000_000).map((_, index) => (index * 31 + (index >> 8)) % 256)],
  ['a view into a larger buffer', new Uint8Array([9, 9, 1, 2, 3, 9]).subarray(2, 5)],
]

const same = (actual: Bytes | undefined, expected: Bytes | undefined, what: string): void => {
  assert.ok(actual === undefined || actual instanceof Uint8Array, `${what}: expected bytes`)
  assert.equal(actual?.length, expected?.length, what)
  assert.ok(actual === undefined || actual.every((value, index) => value === expected![index]), what)
}

const roundCases: readonly Case[] = odd.map(([what, value]) => ({
  name: `${what}: every verb returns payload, result and error unchanged`,
  // Seen in other queues: a JSON column rewrites numbers or refuses U+0000.
  proves: ['S2', 'trap 27'],
  run: async ({ storage, added, job, claimOne, advance, unit }) => {
    const first = await added({ payload: value, maxAttempts: 9 })
    same((await recordOf(storage, first, 'payload')).payload, value, 'payload by get')
    const { items } = await storage.list({ of: 'jobs', limit: 10, parts: ['payload'] })
    same(items[0]?.payload, value, 'payload by list')
    await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'retry', error: value })
    const failing = await recordOf(storage, first, 'error', 'attempts')
    same(failing.error, value, 'error')
    same(failing.attempts?.[0]?.error, value, 'error of the attempt')
    const second = await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
    same(second.payload, value, 'payload after a retry')
    await advance(2 * unit)
    await storage.recover({ types: ['mail'], limit: 10 })
    const third = await claimOne()
    same(third.payload, value, 'payload after a recovery')
    await settleOutcome(storage, { ...fenceOf(third), kind: 'released', payload: value })
    const dependent = job({ type: 'other', blockers: [refOf(first)] })
    await storage.add([dependent])
    const fourth = await claimOne()
    same(fourth.payload, value, 'payload that a release replaced')
    await settleOutcome(storage, { ...fenceOf(fourth), kind: 'completed', result: value })
    same((await recordOf(storage, first, 'result')).result, value, 'result by get')
    const { blockers } = await claimOne({ types: [{ type: 'other', leaseMs: 10 * unit }] })
    same(blockers[0]?.result, value, 'result of a blocker')
    const [again] = await storage.add([job({ id: first.id })])
    same(again?.verdict === 'duplicate' ? again.job.result : undefined, value, 'cached result')
  },
}))

const absenceCases: readonly Case[] = [
  {
    name: 'an absent payload stays absent through retry, release and recovery',
    proves: ['S2'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      const job = await added({ maxAttempts: 9 })
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'retry' })
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'released' })
      await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
      await advance(2 * unit)
      await storage.recover({ types: ['mail'], limit: 10 })
      assert.equal((await claimOne()).payload, undefined)
      assert.equal((await recordOf(storage, job, 'payload')).payload, undefined)
    },
  },
  {
    name: 'an absent payload and a payload of zero bytes stay distinct',
    proves: ['S2'],
    run: async ({ storage, job, claim }) => {
      const { payload: _, ...none } = job({ id: 'none' }) as NewJob & { payload?: Bytes }
      await storage.add([none, job({ id: 'zero', payload: new Uint8Array() })])
      assert.deepEqual(
        (await claim()).map(({ payload }) => byteValues(payload)),
        [undefined, []],
      )
      const { items } = await storage.list({ of: 'jobs', limit: 10, order: 'asc', parts: ['payload'] })
      const payloads = new Map(items.map(({ id, payload }) => [id, byteValues(payload)]))
      assert.deepEqual([payloads.get('none'), payloads.get('zero')], [undefined, []])
    },
  },
  {
    name: 'an absent result and a result of zero bytes stay distinct for dependents',
    proves: ['S2', 'trap 1'],
    run: async ({ storage, added, claim, claimOne, unit }) => {
      const blockers = [await added(), await added()]
      await added({ type: 'other', blockers: blockers.map(refOf) })
      const [none, zero] = await claim()
      await complete(storage, none!)
      await settleOutcome(storage, { ...fenceOf(zero!), kind: 'completed', result: new Uint8Array() })
      const claimed = await claimOne({ types: [{ type: 'other', leaseMs: 10 * unit }] })
      assert.deepEqual(
        claimed.blockers.map(({ result }) => byteValues(result)),
        [undefined, []],
      )
    },
  },
  {
    name: 'a part is present exactly if it was asked for',
    run: async ({ storage, added, claimOne }) => {
      const job = await added({ payload: all })
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'completed', result: all })
      const bare = await recordOf(storage, job)
      for (const part of ['payload', 'result', 'error', 'attempts', 'blockers', 'tail'] as const)
        assert.equal(bare[part], undefined, part)
      const some = await recordOf(storage, job, 'result')
      assert.deepEqual([some.payload, byteValues(some.result)], [undefined, byteValues(all)])
    },
  },
]

export const hostileByteCases: readonly Case[] = [...roundCases, ...absenceCases]
