// The deduplication mode debounce: a waiting job takes over the payload of later adds, and waits for a pause between them.

import assert from 'node:assert/strict'
import type { AddVerdict, NewJob } from 'holdfast/storage'
import { bytes, type Case, type CaseContext, text } from '../case.ts'
import { complete, continueWith, fail, retry } from '../outcomes.ts'
import { idsOf, recordOf, refOf, snapshotOf, statesOf } from '../records.ts'
import { addOne, runOne } from '../scenarios.ts'

/** A job with the key `k` and a window of 20 units. */
function debounced(
  { job, unit }: CaseContext,
  payload: string,
  maxWaitMs?: number,
  fields: Partial<NewJob> = {},
): NewJob {
  const deduplication = { key: 'k', mode: 'debounce', windowMs: 20 * unit, ...(maxWaitMs && { maxWaitMs }) } as const
  return job({ deduplication, payload: bytes(payload), ...fields })
}

const add = (context: CaseContext, ...given: [payload: string, maxWaitMs?: number, fields?: Partial<NewJob>]) =>
  addOne(context.storage, debounced(context, ...given))

function assertReplaced(verdict: AddVerdict, id: string): void {
  assert.deepEqual([verdict.verdict, 'job' in verdict && verdict.job.id], ['replaced', id])
}

const payloadOf = async ({ storage }: CaseContext, id: string): Promise<string | undefined> =>
  text((await recordOf(storage, { type: 'mail', id }, 'payload')).payload)

const windowCases: readonly Case[] = [
  {
    name: 'a debounced job is due when its window is over',
    run: async (context) => {
      const { storage, advance, claim, unit } = context
      const verdict = await add(context, 'one', undefined, { id: 'first' })
      assert.deepEqual([verdict.verdict, 'job' in verdict && verdict.job.state], ['added', 'scheduled'])
      const { runAt, createdAt } = await recordOf(storage, { type: 'mail', id: 'first' })
      assert.equal(runAt, createdAt + 20 * unit)
      assert.deepEqual(await claim(), [])
      await advance(20 * unit)
      assert.deepEqual(idsOf(await claim()), ['first'])
    },
  },
  {
    name: 'a second add replaces the payload of the waiting job and starts its window anew',
    run: async (context) => {
      const { storage, advance, claim, claimOne, now, unit } = context
      await add(context, 'one', undefined, { id: 'first' })
      await advance(15 * unit)
      const earliest = (await now()) + 20 * unit
      const second = debounced(context, 'two')
      assertReplaced(await addOne(storage, second), 'first')
      assert.deepEqual(await statesOf(storage, second), [undefined])
      const { runAt } = await recordOf(storage, { type: 'mail', id: 'first' })
      assert.ok(runAt >= earliest && runAt <= (await now()) + 20 * unit)
      await advance(10 * unit)
      assert.deepEqual(await claim(), [])
      await advance(10 * unit)
      assert.equal(text((await claimOne()).payload), 'two')
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'a debounced job is due at the latest its maxWaitMs after it was accepted',
    run: async (context) => {
      const { storage, advance, claim, claimOne, unit } = context
      await add(context, '0', 30 * unit, { id: 'first' })
      const { createdAt } = await recordOf(storage, { type: 'mail', id: 'first' })
      for (const payload of ['1', '2']) {
        await advance(12 * unit)
        assertReplaced(await add(context, payload, 30 * unit), 'first')
      }
      assert.equal((await recordOf(storage, { type: 'mail', id: 'first' })).runAt, createdAt + 30 * unit)
      assert.deepEqual(await claim(), [])
      await advance(6 * unit)
      // Due, and not yet claimed: it still takes a payload, and stays due.
      assertReplaced(await add(context, '3', 30 * unit), 'first')
      assert.equal(text((await claimOne()).payload), '3')
    },
  },
  {
    name: 'a maxWaitMs below the window is the first wait too',
    run: async (context) => {
      const { storage, unit } = context
      await add(context, 'one', 5 * unit, { id: 'first' })
      const { runAt, createdAt } = await recordOf(storage, { type: 'mail', id: 'first' })
      assert.equal(runAt, createdAt + 5 * unit)
    },
  },
  {
    name: 'a payload is replaced by none, and none by a payload',
    run: async (context) => {
      const { storage, job, unit } = context
      const deduplication = { key: 'k', mode: 'debounce', windowMs: 20 * unit } as const
      await addOne(storage, job({ id: 'first', deduplication }))
      assertReplaced(await add(context, 'some'), 'first')
      assert.equal(await payloadOf(context, 'first'), 'some')
      assertReplaced(await addOne(storage, job({ deduplication })), 'first')
      assert.equal(await payloadOf(context, 'first'), undefined)
      const large = 'x'.repeat(200_000)
      assertReplaced(await add(context, large), 'first')
      assertReplaced(await add(context, 'small'), 'first')
      assertReplaced(await add(context, large), 'first')
      assert.equal(await payloadOf(context, 'first'), large)
    },
  },
]

const stateCases: readonly Case[] = [
  {
    name: 'an add while the debounced job runs is a new job, which takes the key',
    run: async (context) => {
      const { storage, advance, claimOne, unit } = context
      await add(context, 'one')
      await advance(20 * unit)
      const running = await claimOne()
      assert.equal((await add(context, 'two', undefined, { id: 'second' })).verdict, 'added')
      assertReplaced(await add(context, 'three'), 'second')
      // The end of the first does not free the key of the second.
      await fail(storage, running)
      assertReplaced(await add(context, 'four'), 'second')
      assert.equal(await payloadOf(context, 'second'), 'four')
      assert.equal(text((await recordOf(storage, running, 'payload')).payload), 'one')
    },
  },
  {
    name: 'a debounced job that waits for its retry takes the payload, and keeps its failures',
    run: async (context) => {
      const { storage, advance, claimOne, unit } = context
      await add(context, 'one', undefined, { id: 'first' })
      await advance(20 * unit)
      await retry(storage, await claimOne())
      assertReplaced(await add(context, 'two'), 'first')
      const { state, failures, runAt, createdAt } = await recordOf(storage, { type: 'mail', id: 'first' })
      assert.deepEqual([state, failures], ['failing', 1])
      assert.ok(runAt >= createdAt + 40 * unit)
      await advance(20 * unit)
      assert.equal(text((await claimOne()).payload), 'two')
    },
  },
  {
    name: 'a blocked debounced job takes the payload, and is due when its blocker has completed and its window is over',
    run: async (context) => {
      const { storage, added, advance, claim, claimOne, unit } = context
      const blocker = await added({ type: 'blocker' })
      await add(context, 'one', undefined, { id: 'first', blockers: [refOf(blocker)] })
      await advance(15 * unit)
      assertReplaced(await add(context, 'two'), 'first')
      assert.deepEqual(await statesOf(storage, { type: 'mail', id: 'first' }), ['blocked'])
      await runOne(context, 'blocker')
      assert.deepEqual(await statesOf(storage, { type: 'mail', id: 'first' }), ['scheduled'])
      await advance(10 * unit)
      assert.deepEqual(await claim(), [])
      await advance(10 * unit)
      assert.equal(text((await claimOne()).payload), 'two')
    },
  },
  {
    name: 'a debounced job keeps its place in an ordered group',
    run: async (context) => {
      const { added, advance, claim, claimOne, unit } = context
      const group = { key: 'g', ordered: true } as const
      await add(context, 'one', undefined, { id: 'first', group })
      await added({ id: 'behind', group })
      await advance(15 * unit)
      assertReplaced(await add(context, 'two'), 'first')
      await advance(15 * unit)
      assert.deepEqual(await claim(), [])
      await advance(5 * unit)
      assert.equal((await claimOne()).id, 'first')
    },
  },
  {
    name: 'an add after the chain of the debounced job continued is a new job',
    run: async (context) => {
      const { storage, advance, claimOne, job, unit } = context
      await add(context, 'one')
      await advance(20 * unit)
      await continueWith(storage, await claimOne(), job({ type: 'next' }))
      assert.equal((await add(context, 'two', undefined, { id: 'second' })).verdict, 'added')
      await runOne(context, 'next')
      assertReplaced(await add(context, 'three'), 'second')
    },
  },
  {
    name: 'a debounced job that ended frees its key',
    run: async (context) => {
      const { storage, advance, claimOne, unit } = context
      await add(context, 'one')
      await advance(20 * unit)
      await complete(storage, await claimOne())
      assert.equal((await add(context, 'two', undefined, { id: 'second' })).verdict, 'added')
      await storage.cancel([{ type: 'mail', id: 'second' }])
      assert.equal((await add(context, 'three')).verdict, 'added')
    },
  },
  {
    name: 'the continuation of a chain ignores a debounce of its own',
    run: async (context) => {
      const { storage, added, claimOne } = context
      await added()
      await continueWith(storage, await claimOne(), debounced(context, 'next', undefined, { id: 'next' }))
      assert.deepEqual(await statesOf(storage, { type: 'mail', id: 'next' }), ['queued'])
      assert.equal((await add(context, 'one')).verdict, 'added')
    },
  },
]

const repeatCases: readonly Case[] = [
  {
    name: 'the repeat of an add that replaced a payload answers replaced and changes nothing',
    run: async (context) => {
      const { storage, advance, claimOne, unit } = context
      const first = debounced(context, 'one', undefined, { id: 'first' })
      const second = debounced(context, 'two')
      await addOne(storage, first)
      assertReplaced(await addOne(storage, second), 'first')
      await advance(5 * unit)
      const before = await snapshotOf(storage, first)
      assertReplaced(await addOne(storage, second), 'first')
      assert.equal((await addOne(storage, first)).verdict, 'added')
      assert.deepEqual(await snapshotOf(storage, first), before)
      await advance(20 * unit)
      await claimOne()
      // Once more while it runs: still no new job.
      assertReplaced(await addOne(storage, second), 'first')
      assert.deepEqual(await statesOf(storage, second), [undefined])
    },
  },
  {
    name: 'two debounced jobs of one token in a batch are one job with the last payload, also in a repeat',
    run: async (context) => {
      const { storage } = context
      const batch = ['one', 'two', 'three'].map((payload) => debounced(context, payload, undefined, { token: 't' }))
      for (let round = 0; round < 2; round++) {
        const verdicts = await storage.add(batch)
        assert.equal(verdicts[0]!.verdict, 'added')
        for (const verdict of verdicts.slice(1)) assertReplaced(verdict, batch[0]!.id)
        assert.equal(await payloadOf(context, batch[0]!.id), 'three')
      }
      const later = ['four', 'five'].map((payload) => debounced(context, payload, undefined, { token: 'u' }))
      for (let round = 0; round < 2; round++) {
        for (const verdict of await storage.add(later)) assertReplaced(verdict, batch[0]!.id)
        assert.equal(await payloadOf(context, batch[0]!.id), 'five')
      }
    },
  },
  {
    name: 'of many concurrent debounced adds one is added, and the payload is that of one of the others',
    run: async (context) => {
      const { storage, another, advance, claimOne, unit } = context
      const handles = [storage, await another()]
      const verdicts = await Promise.all(
        Array.from({ length: 30 }, (_, index) => addOne(handles[index % 2]!, debounced(context, `p${index}`))),
      )
      const kinds = verdicts.map(({ verdict }) => verdict)
      assert.deepEqual([kinds.filter((kind) => kind === 'added').length, new Set(kinds).size], [1, 2])
      const first = kinds.indexOf('added')
      await advance(25 * unit)
      assert.notEqual(text((await claimOne()).payload), `p${first}`)
    },
  },
  {
    name: 'a revived debounced job takes its key again',
    run: async (context) => {
      const { storage } = context
      await add(context, 'one', undefined, { id: 'first' })
      await storage.cancel([{ type: 'mail', id: 'first' }])
      assert.deepEqual(await storage.revive([{ type: 'mail', id: 'first' }]), [{ verdict: 'revived' }])
      assertReplaced(await add(context, 'two'), 'first')
      await storage.cancel([{ type: 'mail', id: 'first' }])
      assert.equal((await add(context, 'three')).verdict, 'added')
      assert.deepEqual(await storage.revive([{ type: 'mail', id: 'first' }]), [{ verdict: 'conflict' }])
    },
  },
]

export const addDebounceCases: readonly Case[] = [...windowCases, ...stateCases, ...repeatCases].map((item) => ({
  ...item,
  proves: ['F25', 'S11'],
}))
