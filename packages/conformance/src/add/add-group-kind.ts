// The kind of a group: while it has unfinished jobs of one kind, a job of the other kind is refused.

import assert from 'node:assert/strict'
import type { NewJob } from 'holdfast/storage'
import type { Case } from '../case.ts'
import { fenceOf, refOf, statesOf } from '../records.ts'
import { addOne, inState, runOne } from '../scenarios.ts'

const ordered = { group: { key: 'g', ordered: true } } as const
const unordered = { group: { key: 'g' } } as const
const kinds = [
  ['an ordered', ordered, unordered],
  ['an unordered', unordered, ordered],
] as const satisfies readonly (readonly [string, Partial<NewJob>, Partial<NewJob>])[]

const refusal = (fields: Partial<NewJob>) =>
  ({ verdict: 'group_kind', ordered: fields.group?.ordered === true }) as const

export const addGroupKindCases: readonly Case[] = [
  ...kinds.flatMap(([what, own, other]) =>
    (['scheduled', 'queued', 'failing', 'blocked', 'processing'] as const).map((state): Case => ({
      name: `${what} group with a ${state} job refuses a job of the other kind, and writes nothing`,
      proves: ['F21'],
      run: async (context) => {
        const { storage, job, added } = context
        await inState(context, state, own)
        const refused = job(other)
        assert.deepEqual(await addOne(storage, refused), refusal(own))
        assert.deepEqual(await statesOf(storage, refused), [undefined])
        await added(own)
      },
    })),
  ),
  ...kinds.map(([what, own, other]): Case => ({
    name: `${what} group without unfinished jobs takes the other kind`,
    proves: ['F21'],
    run: async (context) => {
      const { storage, added, claim } = context
      await added(own)
      await runOne(context)
      const failed = await inState(context, 'failed', own)
      await storage.remove([refOf(failed)])
      await storage.pause({ type: 'mail', group: 'g', paused: true })
      await added(other)
      await added(other)
      await storage.pause({ type: 'mail', group: 'g', paused: false })
      assert.equal((await claim()).length, own === ordered ? 2 : 1)
    },
  })),
  {
    name: 'a group of the same key in another type, and another key, have kinds of their own',
    proves: ['F21'],
    run: async ({ added }) => {
      await added(ordered)
      await added({ type: 'sms', ...unordered })
      await added({ group: { key: 'h' } })
    },
  },
  {
    name: 'a repeat that adds a job which was a duplicate before is refused that one, if its group has the other kind by now',
    proves: ['F21'],
    run: async (context) => {
      const { storage, job, added, claim } = context
      const taken = await added()
      const batch = [job({ token: 't' }), job({ token: 't', id: taken.id, ...ordered })]
      const verdicts = async () => (await storage.add(batch)).map(({ verdict }) => verdict)
      assert.deepEqual(await verdicts(), ['added', 'duplicate'])
      await storage.remove([refOf(taken)], { trees: true })
      await added(unordered)
      assert.deepEqual(await verdicts(), ['added', 'group_kind'])
      await added(unordered)
      assert.equal((await claim()).length, 3)
    },
  },
  {
    name: 'of a batch that a full group and the other kind refuse, the kind is the verdict',
    proves: ['F21'],
    run: async ({ storage, job }) => {
      const batch = [job({ token: 't', maxWaiting: { group: 1 }, ...unordered }), job({ token: 't', ...ordered })]
      assert.deepEqual(await storage.add(batch), [refusal(unordered), refusal(unordered)])
    },
  },
  {
    name: 'the kind of an earlier job of the batch counts, and refuses all jobs of a token',
    proves: ['F21', 'F3'],
    run: async ({ storage, job }) => {
      const verdicts = await storage.add([
        job(ordered),
        job(unordered),
        job({ id: 'a', token: 'two', group: { key: 'h' } }),
        job({ id: 'b', token: 'two', ...unordered }),
        job({ id: 'c', token: 'mixed', group: { key: 'i' } }),
        job({ id: 'd', token: 'mixed', group: { key: 'i', ordered: true } }),
        job({ id: 'e', group: { key: 'h', ordered: true } }),
      ])
      assert.deepEqual(
        verdicts.map(({ verdict }) => verdict),
        ['added', 'group_kind', 'group_kind', 'group_kind', 'group_kind', 'group_kind', 'added'],
      )
    },
  },
  {
    name: 'a duplicate of a job, and the repeat of an add, are answered as such',
    proves: ['F21', 'F25'],
    run: async ({ storage, job }) => {
      const first = job(ordered)
      await storage.add([first])
      assert.equal((await addOne(storage, first)).verdict, 'added')
      assert.equal((await addOne(storage, job({ id: first.id, ...unordered }))).verdict, 'duplicate')
    },
  },
  {
    name: 'a job that takes the place of the only job of its group may change its kind',
    proves: ['F21', 'F4'],
    run: async ({ storage, job, added }) => {
      const first = await added(ordered)
      const replacing = job({ id: first.id, ...unordered, onDuplicate: 'replace' })
      assert.equal((await addOne(storage, replacing)).verdict, 'replaced')
      await added(unordered)
    },
  },
  {
    name: 'an outcome whose job is of the other kind is refused as a conflict',
    proves: ['F21', 'S11'],
    run: async ({ storage, job, added, claimOne, unit }) => {
      await added(ordered)
      const first = await added({ type: 'other' })
      const lease = fenceOf(await claimOne({ types: [{ type: 'other', leaseMs: 10 * unit }] }))
      const [verdict] = await storage.settle([{ ...lease, kind: 'completed', add: [job(unordered)] }])
      assert.deepEqual(verdict, { verdict: 'conflict', added: [refusal(ordered)] })
      assert.deepEqual(await statesOf(storage, first), ['processing'])
    },
  },
  {
    name: 'a failed job whose group has jobs of the other kind by now is not revived: conflict',
    proves: ['F21'],
    run: async (context) => {
      const { storage, added, claimOne } = context
      const failed = await inState(context, 'failed', ordered)
      await added(unordered)
      assert.deepEqual(await storage.revive([refOf(failed)]), [{ verdict: 'conflict' }])
      assert.deepEqual(await statesOf(storage, failed), ['failed'])
      await storage.settle([{ ...fenceOf(await claimOne()), kind: 'completed' }])
      assert.deepEqual(await storage.revive([refOf(failed)]), [{ verdict: 'revived' }])
    },
  },
]
