// Windows of deduplication keys: throttle outlives its job, a window ends on time, and a shared key is taken once per call.

import assert from 'node:assert/strict'
import type { AddVerdict, Deduplication } from 'holdfast/storage'
import { second } from './add-keys.ts'
import type { Case, CaseContext } from '../case.ts'
import { complete, fail } from '../outcomes.ts'
import { refOf, statesOf } from '../records.ts'

const gone = { completedMs: 0, failedMs: 0, cancelledMs: 0 }

const windowCases: readonly Case[] = [
  {
    name: 'a simple key with a window is free after the window, even while its job is live',
    proves: ['F25'],
    run: async (context) => {
      const deduplication: Deduplication = { key: 'k', mode: 'simple', windowMs: 20 * context.unit }
      const first = await context.added({ deduplication })
      assert.equal((await second(context, deduplication))?.id, first.id)
      await context.advance(20 * context.unit)
      assert.equal(await second(context, deduplication), undefined)
    },
  },
  {
    name: 'a simple key with a window is free within it once its job has completed',
    proves: ['F25'],
    run: async (context) => {
      const { storage, added, claimOne, unit } = context
      const deduplication: Deduplication = { key: 'k', mode: 'simple', windowMs: 500 * unit }
      await added({ deduplication })
      await complete(storage, await claimOne())
      assert.equal(await second(context, deduplication), undefined)
    },
  },
  {
    name: 'the end of an earlier job does not free the key of a later one',
    proves: ['F25', 'S11'],
    run: async (context) => {
      const { storage, added, claimOne, advance, unit } = context
      const deduplication: Deduplication = { key: 'k', mode: 'simple', windowMs: 10 * unit }
      await added({ deduplication })
      await advance(11 * unit)
      const later = await added({ deduplication })
      await fail(storage, await claimOne({ slots: 1 }))
      assert.equal((await second(context, deduplication))?.id, later.id)
    },
  },
  {
    name: 'a throttle key stays taken for its window, even after its job completed and its record is gone',
    proves: ['F25', 'W3'],
    run: async (context) => {
      const { storage, added, claimOne, advance, unit } = context
      const deduplication: Deduplication = { key: 'k', mode: 'throttle', windowMs: 20 * unit }
      const first = await added({ deduplication, retention: gone })
      await complete(storage, await claimOne())
      await storage.sweep({ limit: 100 })
      assert.deepEqual(await statesOf(storage, first), [undefined])
      assert.equal((await second(context, deduplication))?.id, first.id)
      await advance(20 * unit)
      assert.equal(await second(context, deduplication), undefined)
    },
  },
  {
    name: 'a throttle key is free after its window, even while its job is live',
    proves: ['F25'],
    run: async (context) => {
      const deduplication: Deduplication = { key: 'k', mode: 'throttle', windowMs: 10 * context.unit }
      await context.added({ deduplication, delayMs: 500 * context.unit })
      await context.advance(10 * context.unit)
      assert.equal(await second(context, deduplication), undefined)
    },
  },
  {
    name: 'a duplicate does not extend the window',
    proves: ['F25', 'W4'],
    run: async (context) => {
      const { added, advance, unit } = context
      const deduplication: Deduplication = { key: 'k', mode: 'throttle', windowMs: 20 * unit }
      await added({ deduplication })
      await advance(8 * unit)
      assert.ok(await second(context, deduplication))
      await advance(12 * unit)
      assert.equal(await second(context, deduplication), undefined)
    },
  },
  {
    name: 'the sweep of an ended window does not free the key of a later job',
    proves: ['F25', 'S20'],
    run: async (context) => {
      const { storage, added, advance, unit } = context
      const deduplication: Deduplication = { key: 'k', mode: 'throttle', windowMs: 20 * unit }
      await added({ deduplication })
      await advance(20 * unit)
      const later = await added({ deduplication })
      await storage.sweep({ limit: 100 })
      assert.equal((await second(context, deduplication))?.id, later.id)
    },
  },
  {
    name: 'a throttle key without a window is taken while the record of its completed job lives',
    proves: ['F25', 'S12'],
    run: async (context) => {
      const { storage, added, claimOne, advance, unit } = context
      const deduplication: Deduplication = { key: 'k', mode: 'throttle' }
      const first = await added({ deduplication, retention: { ...gone, completedMs: 20 * unit } })
      await complete(storage, await claimOne())
      const standing = await second(context, deduplication)
      assert.deepEqual([standing?.id, standing?.state], [first.id, 'completed'])
      await advance(20 * unit)
      assert.equal(await second(context, deduplication), undefined)
    },
  },
]

/** Adds two jobs of one token under one shared key. */
async function batch({ storage, job, unit }: CaseContext, token: string, windowMs = 500 * unit): Promise<AddVerdict[]> {
  const deduplication: Deduplication = { key: 'k', mode: 'throttle', windowMs, shared: true }
  return storage.add([job({ token, deduplication, maxAttempts: 1 }), job({ token, deduplication, maxAttempts: 1 })])
}
const verdictsOf = (verdicts: readonly AddVerdict[]): string[] => verdicts.map((verdict) => verdict.verdict)

const sharedCases: readonly Case[] = [
  {
    name: 'a shared key is taken once for all jobs of a token and refuses all jobs of the next token',
    proves: ['F25', 'W11'],
    run: async (context) => {
      assert.deepEqual(verdictsOf(await batch(context, 't')), ['added', 'added'])
      assert.deepEqual(verdictsOf(await batch(context, 'u')), ['duplicate', 'duplicate'])
      assert.equal((await context.claim()).length, 2)
    },
  },
  {
    name: 'a shared key stays taken for its window when its jobs complete, fail or are cancelled',
    proves: ['F25'],
    run: async (context) => {
      const { storage, claim, advance, unit } = context
      await batch(context, 't', 20 * unit)
      const [one, other] = await claim()
      await fail(storage, one!)
      assert.deepEqual(verdictsOf(await batch(context, 'u', 20 * unit)), ['duplicate', 'duplicate'])
      await storage.cancel([refOf(other!)], { force: true })
      assert.deepEqual(verdictsOf(await batch(context, 'v', 20 * unit)), ['duplicate', 'duplicate'])
      await advance(20 * unit)
      assert.deepEqual(verdictsOf(await batch(context, 'w', 20 * unit)), ['added', 'added'])
    },
  },
  {
    name: 'two calls in one batch, each with a shared key, are decided separately',
    proves: ['F25', 'S3'],
    run: async ({ storage, job, unit }) => {
      const of = (token: string, key: string) =>
        job({ token, deduplication: { key, mode: 'throttle', windowMs: 500 * unit, shared: true } })
      const verdicts = await storage.add([of('t', 'k'), of('t', 'k'), of('u', 'k'), of('u', 'k'), of('v', 'other')])
      assert.deepEqual(verdictsOf(verdicts), ['added', 'added', 'duplicate', 'duplicate', 'added'])
    },
  },
  {
    name: 'a shared key and a single key of the same name are one key',
    proves: ['F25'],
    run: async (context) => {
      await batch(context, 't')
      assert.ok(await second(context, { key: 'k', mode: 'throttle', windowMs: 500 * context.unit }))
    },
  },
]

export const addKeyWindowCases: readonly Case[] = [...windowCases, ...sharedCases]
