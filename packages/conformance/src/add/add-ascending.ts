// The deduplication mode ascending: only versions above the last accepted one, whatever became of the jobs.

import assert from 'node:assert/strict'
import type { AddVerdict, NewJob } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, fail } from '../outcomes.ts'
import { recordOf, refOf, statesOf } from '../records.ts'
import { addOne, runOne } from '../scenarios.ts'

const gone = { completedMs: 0, failedMs: 0, cancelledMs: 0 }

const versioned = ({ job }: CaseContext, version: number, fields: Partial<NewJob> = {}, ttlMs?: number): NewJob =>
  job({ deduplication: { key: 'k', mode: 'ascending', version, ...(ttlMs !== undefined && { ttlMs }) }, ...fields })

const add = (context: CaseContext, ...given: [version: number, fields?: Partial<NewJob>, ttlMs?: number]) =>
  addOne(context.storage, versioned(context, ...given))

/** `added`, or the last version. */
const shownOf = (verdict: AddVerdict): unknown => (verdict.verdict === 'stale' ? verdict.version : verdict.verdict)

/** What may become of the job of the last version. */
const since: readonly (readonly [string, (context: CaseContext) => Promise<unknown>])[] = [
  ['runs', ({ claimOne }) => claimOne()],
  ['has completed', (context) => runOne(context)],
  ['has failed', async ({ storage, claimOne }) => fail(storage, await claimOne())],
  ['was cancelled', ({ storage }) => storage.cancel([{ type: 'mail', id: 'five' }])],
  ['was removed', ({ storage }) => storage.remove([{ type: 'mail', id: 'five' }], { trees: true })],
  [
    'was swept',
    async (context) => {
      await runOne(context)
      await context.storage.sweep({ limit: 100 })
      assert.deepEqual(await statesOf(context.storage, { type: 'mail', id: 'five' }), [undefined])
    },
  ],
]

const sinceCases: readonly Case[] = since.map(([what, arrange]) => ({
  name: `after the job of the last version ${what}, only a greater version is added`,
  run: async (context) => {
    await add(context, 5, { id: 'five', ...(what === 'was swept' && { retention: gone }) })
    await arrange(context)
    assert.deepEqual(shownOf(await add(context, 5)), 5)
    assert.deepEqual(shownOf(await add(context, 4)), 5)
    assert.equal(shownOf(await add(context, 6)), 'added')
    assert.deepEqual(shownOf(await add(context, 5)), 6)
  },
}))

const versionCases: readonly Case[] = [
  {
    name: 'a version that is not above the last one is stale, and adds nothing',
    run: async (context) => {
      const { storage, claim } = context
      assert.equal(shownOf(await add(context, -3)), 'added')
      assert.equal(shownOf(await add(context, 7)), 'added')
      const refused = versioned(context, 7)
      assert.deepEqual(await addOne(storage, refused), { verdict: 'stale', version: 7 })
      assert.deepEqual(await addOne(storage, versioned(context, 0)), { verdict: 'stale', version: 7 })
      assert.deepEqual(await statesOf(storage, refused), [undefined])
      // A greater version does not replace the jobs before it.
      assert.equal((await claim()).length, 2)
    },
  },
  {
    name: 'the greatest and the least safe integer are versions',
    run: async (context) => {
      assert.equal(shownOf(await add(context, Number.MIN_SAFE_INTEGER)), 'added')
      assert.equal(shownOf(await add(context, Number.MAX_SAFE_INTEGER - 1)), 'added')
      assert.equal(shownOf(await add(context, Number.MAX_SAFE_INTEGER)), 'added')
      assert.equal(shownOf(await add(context, Number.MAX_SAFE_INTEGER - 1)), Number.MAX_SAFE_INTEGER)
    },
  },
  {
    name: 'a batch adds rising versions, and finds the others stale',
    run: async (context) => {
      const versions = [1, 2, 2, 5, 3]
      const verdicts = await context.storage.add(versions.map((version) => versioned(context, version, { token: 't' })))
      assert.deepEqual(verdicts.map(shownOf), ['added', 'added', 2, 'added', 5])
    },
  },
  {
    name: 'the last version is known for its ttlMs',
    run: async (context) => {
      const { storage, advance, unit } = context
      await add(context, 5, { retention: gone }, 20 * unit)
      await runOne(context)
      await advance(15 * unit)
      await storage.sweep({ limit: 100 })
      assert.equal(shownOf(await add(context, 5, {}, 20 * unit)), 5)
      await advance(5 * unit)
      assert.equal(shownOf(await add(context, 1, {}, 20 * unit)), 'added')
    },
  },
  {
    name: 'a version whose ttlMs is over is not known, swept or not, even while its job is live',
    run: async (context) => {
      const { storage, advance, unit } = context
      for (const isSwept of [false, true]) {
        const key = { key: String(isSwept), mode: 'ascending', version: 5, ttlMs: 10 * unit } as const
        await context.added({ deduplication: key, delayMs: 500 * unit })
        await advance(10 * unit)
        if (isSwept) await storage.sweep({ limit: 100 })
        assert.deepEqual(await storage.get([{ type: 'mail', key: key.key }]), [undefined])
        await context.added({ deduplication: { ...key, version: 1 } })
        const verdict = await addOne(storage, context.job({ deduplication: { key: key.key, mode: 'simple' } }))
        assert.equal(verdict.verdict, 'duplicate')
      }
    },
  },
  {
    name: 'an ended ttlMs is swept within the limit',
    run: async (context) => {
      const { storage, added, advance, unit } = context
      for (const key of ['a', 'b', 'c']) {
        await added({ deduplication: { key, mode: 'ascending', version: 1, ttlMs: 10 * unit } })
      }
      await added({ deduplication: { key: 'kept', mode: 'ascending', version: 1 } })
      await advance(10 * unit)
      // A backend that expires its marks by itself has none left to sweep.
      const [one, two] = [await storage.sweep({ limit: 2 }), await storage.sweep({ limit: 2 })]
      assert.deepEqual([one.marks, one.more, two.marks], one.marks === 0 ? [0, false, 0] : [2, true, 1])
      const kept = context.job({ deduplication: { key: 'kept', mode: 'ascending', version: 1 } })
      assert.equal(shownOf(await addOne(storage, kept)), 1)
    },
  },
]

const repeatCases: readonly Case[] = [
  {
    name: 'the repeat of an accepted version answers added, even if its job is gone',
    run: async (context) => {
      const { storage, claim } = context
      const only = versioned(context, 5, { retention: gone })
      assert.equal(shownOf(await addOne(storage, only)), 'added')
      assert.equal(shownOf(await addOne(storage, only)), 'added')
      await runOne(context)
      await storage.sweep({ limit: 100 })
      assert.equal(shownOf(await addOne(storage, only)), 'added')
      assert.deepEqual(await claim(), [])
      // Another job of the same call is not its repeat.
      assert.equal(shownOf(await add(context, 5, { token: only.token })), 5)
    },
  },
  {
    name: 'a repeated batch of rising versions gets the first answers',
    run: async (context) => {
      const batch = [1, 3, 2].map((version) => versioned(context, version, { token: 't' }))
      for (let round = 0; round < 2; round++) {
        assert.deepEqual((await context.storage.add(batch)).map(shownOf), ['added', 'added', 3])
      }
      assert.equal((await context.claim()).length, 2)
    },
  },
  {
    name: 'an id that is taken is a duplicate by id, whatever its version',
    run: async (context) => {
      await add(context, 1, { id: 'same' })
      const verdict = await add(context, 2, { id: 'same' })
      assert.equal(verdict.verdict === 'duplicate' && verdict.by, 'id')
      assert.equal(shownOf(await add(context, 2)), 'added')
    },
  },
  {
    name: 'a waiting job is replaced by its id only with a greater version',
    run: async (context) => {
      await add(context, 5, { id: 'same' })
      assert.equal(shownOf(await add(context, 5, { id: 'same', onDuplicate: 'replace' })), 5)
      assert.equal(shownOf(await add(context, 6, { id: 'same', onDuplicate: 'replace' })), 'replaced')
      assert.equal(shownOf(await add(context, 6)), 6)
    },
  },
  {
    name: 'the job of an older version is revived, and the last version stays known',
    run: async (context) => {
      const { storage, claimOne } = context
      await add(context, 1, { id: 'old' })
      await fail(storage, await claimOne())
      await add(context, 2, { id: 'new' })
      await complete(storage, await claimOne())
      assert.deepEqual(await storage.revive([{ type: 'mail', id: 'old' }]), [{ verdict: 'revived' }])
      assert.equal((await claimOne()).id, 'old')
      assert.equal(shownOf(await add(context, 2)), 2)
    },
  },
  {
    name: 'of many concurrent adds of one version one is added, and the others are stale',
    run: async (context) => {
      const { storage, another } = context
      const handles = [storage, await another()]
      const verdicts = await Promise.all(
        Array.from({ length: 30 }, (_, index) => addOne(handles[index % 2]!, versioned(context, 9))),
      )
      assert.equal(verdicts.filter(({ verdict }) => verdict === 'added').length, 1)
      assert.equal(verdicts.filter((verdict) => shownOf(verdict) === 9).length, 29)
    },
  },
  {
    name: 'a stale blocker by position is left out, and its dependent is added',
    run: async (context) => {
      const { storage, job } = context
      await add(context, 5)
      const dependent = job({ token: 't', type: 'dependent', blockers: [1, 2] })
      const other = job({ token: 't', type: 'other' })
      const verdicts = await storage.add([dependent, versioned(context, 4, { token: 't' }), other])
      assert.deepEqual(verdicts.map(shownOf), ['added', 5, 'added'])
      const { state, blockers } = await recordOf(storage, dependent, 'blockers')
      assert.deepEqual([state, blockers], ['blocked', [refOf(other)]])
    },
  },
  {
    name: 'the blockers by position of a stale job are skipped',
    run: async (context) => {
      await add(context, 5)
      const stale = versioned(context, 5, { token: 't', blockers: [1] })
      const verdicts = await context.storage.add([stale, context.job({ token: 't', type: 'below' })])
      assert.deepEqual(verdicts.map(shownOf), [5, 'skipped'])
    },
  },
]

export const addAscendingCases: readonly Case[] = [...versionCases, ...sinceCases, ...repeatCases].map((item) => ({
  ...item,
  proves: ['F25', 'S11'],
}))
