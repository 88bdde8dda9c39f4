// sweep of deduplication keys and of key-value entries.

import assert from 'node:assert/strict'
import { bytes, type Case, text } from '../case.ts'
import { inState } from '../scenarios.ts'

const keptFor = (ms: number) => ({ retention: { completedMs: ms, failedMs: ms, cancelledMs: ms } })
const throttled = (key: string, windowMs: number) =>
  ({ ...keptFor(0), deduplication: { key, mode: 'throttle', windowMs } }) as const
const nothing = { jobs: 0, ended: [], marks: 0, entries: 0, more: false }

export const sweepMarkCases: readonly Case[] = [
  {
    name: 'a key with a window stays taken after its record is swept, until the window ends',
    proves: ['F25', 'S20'],
    run: async (context) => {
      const { storage, added, advance, job, unit } = context
      const deduplication = { key: 'k', mode: 'throttle', windowMs: 20 * unit } as const
      await inState(context, 'completed', { deduplication, ...keptFor(0) })
      await storage.sweep({ limit: 10 })
      const [verdict] = await storage.add([job({ deduplication })])
      assert.equal(verdict!.verdict, 'duplicate')
      await advance(20 * unit)
      const { marks } = await storage.sweep({ limit: 10 })
      assert.ok(marks <= 1)
      await added({ deduplication })
    },
  },
  {
    name: 'keys whose window has ended are swept within the limit, and others stay',
    proves: ['S20'],
    run: async ({ storage, added, advance, job, unit }) => {
      for (const key of ['a', 'b', 'c']) await added(throttled(key, 10 * unit))
      await added(throttled('later', 100 * unit))
      await advance(10 * unit)
      // A backend that expires its marks by itself has none left to sweep.
      const [first, second] = [await storage.sweep({ limit: 2 }), await storage.sweep({ limit: 2 })]
      const swept = [first.marks, first.more, second.marks, second.more]
      assert.deepEqual(swept, first.marks === 0 ? [0, false, 0, false] : [2, true, 1, false])
      assert.equal((await storage.add([job(throttled('later', 100 * unit))]))[0]!.verdict, 'duplicate')
      for (const key of ['a', 'b', 'c']) await added(throttled(key, 10 * unit))
    },
  },
  {
    name: 'a key that was taken again after its window is not swept in place of the old one',
    proves: ['S11'],
    run: async (context) => {
      const { storage, added, advance, job, unit } = context
      const deduplication = { key: 'k', mode: 'throttle', windowMs: 10 * unit } as const
      await inState(context, 'completed', { deduplication, ...keptFor(0) })
      await advance(11 * unit)
      await added({ deduplication: { ...deduplication, windowMs: 100 * unit } })
      await storage.sweep({ limit: 10 })
      assert.equal((await storage.add([job({ deduplication })]))[0]!.verdict, 'duplicate')
    },
  },
  {
    name: 'the key of a live job is not swept',
    proves: ['S11'],
    run: async ({ storage, added, advance, job, unit }) => {
      const deduplication = { key: 'k', mode: 'simple' } as const
      await added({ deduplication, ...keptFor(0) })
      await advance(11 * unit)
      assert.equal((await storage.sweep({ limit: 10 })).marks, 0)
      assert.equal((await storage.add([job({ deduplication })]))[0]!.verdict, 'duplicate')
    },
  },
  {
    name: 'expired kv entries are swept within the limit, and others stay',
    proves: ['S20'],
    run: async ({ storage, advance, unit }) => {
      for (const key of ['a', 'b', 'c']) await storage.kv.set([key], bytes(key), { ttlMs: 10 * unit })
      await storage.kv.set(['kept'], bytes('kept'))
      await storage.kv.set(['later'], bytes('later'), { ttlMs: 100 * unit })
      assert.deepEqual(await storage.sweep({ limit: 10 }), nothing)
      await advance(10 * unit)
      // A backend that expires its entries by itself has none left to sweep.
      const first = await storage.sweep({ limit: 2 })
      assert.deepEqual([first.entries, first.more], first.entries === 0 ? [0, false] : [2, true])
      const second = await storage.sweep({ limit: 2 })
      assert.deepEqual([second.entries, second.more], first.entries === 0 ? [0, false] : [1, false])
      assert.deepEqual(await storage.sweep({ limit: 2 }), nothing)
      assert.equal(text(await storage.kv.get(['kept'])), 'kept')
      assert.equal(text(await storage.kv.get(['later'])), 'later')
    },
  },
  {
    name: 'the limit applies to jobs and to kv entries separately',
    run: async (context) => {
      const { storage, advance, unit } = context
      for (const key of ['a', 'b']) {
        await inState(context, 'completed', keptFor(10 * unit))
        await storage.kv.set([key], bytes(key), { ttlMs: 10 * unit })
      }
      await advance(11 * unit)
      const { jobs, entries, more } = await storage.sweep({ limit: 1 })
      assert.deepEqual([jobs, more], [1, true])
      assert.ok(entries <= 1)
      assert.deepEqual((await storage.sweep({ limit: 1 })).more, false)
    },
  },
]
