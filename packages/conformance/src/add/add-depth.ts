// maxWaiting: an add that would let more jobs wait than its job says is answered `queue_full`, and adds nothing.

import assert from 'node:assert/strict'
import type { NewJob } from 'holdfast/storage'
import { bytes, type Case, type CaseContext } from '../case.ts'
import { fenceOf, stateOf, statesOf } from '../records.ts'
import { addOne, inState } from '../scenarios.ts'

const full = (of: 'type' | 'group', waiting: number) => ({ verdict: 'queue_full', of, waiting }) as const

const verdictsOf = async ({ storage }: CaseContext, jobs: readonly NewJob[]): Promise<string[]> =>
  (await storage.add(jobs)).map(({ verdict }) => verdict)

const bound = { maxWaiting: { type: 2 } }
const g = { group: { key: 'g' } }

export const addDepthCases: readonly Case[] = [
  {
    name: 'a job is refused once the number of waiting jobs of its type is reached, and nothing is written',
    proves: ['F24'],
    run: async ({ storage, job, added, claimOne }) => {
      await added(bound)
      await added(bound)
      const refused = job(bound)
      assert.deepEqual(await addOne(storage, refused), full('type', 2))
      assert.equal(await stateOf(storage, refused), undefined)
      await claimOne({ slots: 1 })
      assert.equal((await addOne(storage, refused)).verdict, 'added')
    },
  },
  ...(['scheduled', 'queued', 'failing', 'blocked'] as const).map((state): Case => ({
    name: `a ${state} job counts as waiting`,
    proves: ['F24'],
    run: async (context) => {
      const { storage, job } = context
      await inState(context, state, g)
      assert.deepEqual(await addOne(storage, job({ maxWaiting: { type: 1 } })), full('type', 1))
      assert.deepEqual(await addOne(storage, job({ ...g, maxWaiting: { group: 1 } })), full('group', 1))
    },
  })),
  ...(['processing', 'completed', 'failed', 'cancelled'] as const).map((state): Case => ({
    name: `a ${state} job does not count as waiting`,
    proves: ['F24'],
    run: async (context) => {
      const { added } = context
      await inState(context, state, g)
      await added({ ...g, maxWaiting: { type: 1, group: 1 } })
    },
  })),
  {
    name: 'jobs of other types, and of other groups, do not count',
    proves: ['F24'],
    run: async ({ storage, job, added }) => {
      await added({ type: 'sms', ...g })
      await added({ group: { key: 'h' } })
      await added({ ...g, maxWaiting: { type: 2, group: 1 } })
      assert.deepEqual(await addOne(storage, job({ ...g, maxWaiting: { type: 9, group: 1 } })), full('group', 1))
    },
  },
  {
    name: 'jobs without maxWaiting are accepted by a full type and group, and count',
    proves: ['F24'],
    run: async ({ storage, job, added }) => {
      for (let count = 0; count < 3; count++) await added(g)
      assert.deepEqual(await addOne(storage, job(bound)), full('type', 3))
    },
  },
  {
    name: 'each job of a batch sees those before it',
    proves: ['F24', 'F3'],
    run: async (context) => {
      const { job } = context
      assert.deepEqual(await verdictsOf(context, [job(bound), job(), job(bound), job()]), [
        'added',
        'added',
        'queue_full',
        'added',
      ])
    },
  },
  {
    name: 'jobs of one token are refused together, and no other job of the batch is',
    proves: ['F24'],
    run: async (context) => {
      const { storage, job } = context
      const batch = ['a', 'b', 'c'].map((id) => job({ id, token: 'together', ...bound }))
      const other = job({ id: 'other' })
      assert.deepEqual(await verdictsOf(context, [...batch, other]), [
        'queue_full',
        'queue_full',
        'queue_full',
        'added',
      ])
      assert.deepEqual(await statesOf(storage, ...batch, other), [undefined, undefined, undefined, 'queued'])
      const fits = ['d', 'e'].map((id) => job({ id, token: 'fits', maxWaiting: { type: 3 } }))
      assert.deepEqual(await verdictsOf(context, fits), ['added', 'added'])
    },
  },
  {
    name: 'a duplicate is answered as a duplicate, however full its queue is',
    proves: ['F24', 'F25'],
    run: async ({ storage, job, added }) => {
      const deduplication = { key: 'k', mode: 'simple' } as const
      const first = await added({ deduplication })
      const byId = await addOne(storage, job({ id: first.id, maxWaiting: { type: 1 } }))
      const byKey = await addOne(storage, job({ deduplication, maxWaiting: { type: 1 } }))
      assert.deepEqual([byId.verdict, byKey.verdict], ['duplicate', 'duplicate'])
    },
  },
  {
    name: 'the repeat of an add is answered as the first, although the queue is full now',
    proves: ['F24'],
    run: async (context) => {
      const { job } = context
      const one = job(bound)
      const two = ['x', 'y'].map((id) => job({ id, token: 'two', maxWaiting: { type: 3 } }))
      for (let call = 0; call < 2; call++) {
        assert.deepEqual(await verdictsOf(context, [one]), ['added'])
        assert.deepEqual(await verdictsOf(context, two), ['added', 'added'])
      }
    },
  },
  {
    name: 'a job that takes the place of a waiting one, or replaces its payload, needs no room',
    proves: ['F24', 'F4'],
    run: async (context) => {
      const { storage, job, added } = context
      const maxWaiting = { type: 1, group: 1 }
      const first = await added({ ...g, maxWaiting })
      const replacing = job({ id: first.id, ...g, maxWaiting, onDuplicate: 'replace' })
      assert.equal((await addOne(storage, replacing)).verdict, 'replaced')
      assert.deepEqual(await addOne(storage, job({ ...g, maxWaiting })), full('type', 1))
      const debounced = { deduplication: { key: 'k', mode: 'debounce', windowMs: 50 * context.unit } } as const
      await added({ type: 'sms', ...debounced, maxWaiting })
      const again = await addOne(storage, job({ type: 'sms', ...debounced, maxWaiting, payload: bytes('new') }))
      assert.equal(again.verdict, 'replaced')
    },
  },
  {
    name: 'an outcome whose jobs a full queue refuses is refused as a conflict, and nothing is written',
    proves: ['F24', 'S11'],
    run: async ({ storage, job, added, claimOne, unit }) => {
      const first = await added()
      await added({ type: 'next' })
      const lease = fenceOf(await claimOne())
      const refused = job({ type: 'next', maxWaiting: { type: 1 } })
      for (const outcome of [
        { ...lease, kind: 'completed', add: [refused] } as const,
        { ...lease, kind: 'failed', add: [refused] } as const,
        { ...lease, kind: 'continued', next: refused } as const,
      ]) {
        const [verdict] = await storage.settle([outcome])
        assert.deepEqual(verdict, { verdict: 'conflict', added: [full('type', 1)] })
      }
      assert.deepEqual(await statesOf(storage, first, refused), ['processing', undefined])
      await claimOne({ types: [{ type: 'next', leaseMs: 10 * unit }] })
      const [verdict] = await storage.settle([{ ...lease, kind: 'continued', next: refused }])
      assert.equal(verdict?.verdict, 'settled')
    },
  },
  {
    name: 'concurrent adds never let more jobs wait than they say',
    proves: ['F24'],
    run: async (context) => {
      const { job } = context
      const handles = [context.storage, await context.another()]
      const maxWaiting = { type: 7, group: 3 }
      const adds = Array.from({ length: 30 }, (_, index) =>
        handles[index % 2]!.add([job({ group: { key: `${index % 3}` }, maxWaiting })]),
      )
      const verdicts = (await Promise.all(adds)).flat()
      assert.equal(verdicts.filter(({ verdict }) => verdict === 'added').length, 7)
      const { types } = await context.storage.count({
        types: ['mail'],
        limits: { type: 'mail', limits: {}, groups: ['0', '1', '2'] },
      })
      for (const { waiting } of types[0]!.groups!) assert.ok(waiting <= 3)
    },
  },
  {
    name: 'a bound that is no integer of at least 1 is refused',
    proves: ['F24'],
    run: async ({ storage, job }) => {
      for (const count of [0, -1, 1.5, Number.NaN]) {
        await assert.rejects(storage.add([job({ maxWaiting: { type: count } })]), { code: 'INVALID_ARGUMENT' })
        await assert.rejects(storage.add([job({ ...g, maxWaiting: { group: count } })]), { code: 'INVALID_ARGUMENT' })
      }
    },
  },
]
