// Rates: in no window do the starts of a type, or of a group, weigh more than the limit; waiting costs nothing else.

import assert from 'node:assert/strict'
import type { ClaimedJob, Limits, NewJob } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, retry } from '../outcomes.ts'
import { idsOf } from '../records.ts'
import { claimWithin } from '../scenarios.ts'

/** Units of the window of every rate here. */
const window = 20

export const perWindow = ({ unit }: CaseContext, limit: number) => ({ limit, perMs: window * unit })

/** Until every start so far has left the window. */
export const pass = ({ advance, unit }: CaseContext): Promise<void> => advance(window * unit)

export async function addAll({ storage, job }: CaseContext, all: readonly Partial<NewJob>[]): Promise<void> {
  await storage.add(all.map((fields, index) => job({ id: String(index), ...fields })))
}

export const claimIds = async (context: CaseContext, limits: Limits, slots?: number): Promise<string[]> =>
  idsOf(await claimWithin(context, limits, slots))

const many = (count: number, fields: Partial<NewJob> = {}): Partial<NewJob>[] =>
  Array.from({ length: count }, () => fields)

const typeCases: readonly Case[] = [
  {
    name: 'a type starts its rate per window, in one claim and over several',
    proves: ['F22'],
    run: async (context) => {
      const limits = { rate: perWindow(context, 3) }
      await addAll(context, many(9))
      assert.deepEqual(await claimIds(context, limits, 2), ['0', '1'])
      assert.deepEqual(await claimIds(context, limits), ['2'])
      assert.deepEqual(await claimIds(context, limits), [])
      await context.advance(context.unit)
      assert.deepEqual(await claimIds(context, limits), [])
      await pass(context)
      assert.deepEqual(await claimIds(context, limits), ['3', '4', '5'])
      assert.deepEqual(await claimIds(context, limits), [])
      await pass(context)
      assert.deepEqual(await claimIds(context, limits), ['6', '7', '8'])
    },
  },
  {
    name: 'the end of a job frees nothing of a rate',
    proves: ['F22'],
    run: async (context) => {
      const limits = { rate: perWindow(context, 1) }
      await addAll(context, many(2))
      for (const lease of await claimWithin(context, limits)) await complete(context.storage, lease)
      assert.deepEqual(await claimIds(context, limits), [])
      await pass(context)
      assert.deepEqual(await claimIds(context, limits), ['1'])
    },
  },
  {
    name: 'starts leave the window one after the other, as they came',
    proves: ['F22'],
    run: async (context) => {
      const { advance, unit } = context
      const limits = { rate: perWindow(context, 3) }
      await addAll(context, many(6))
      assert.deepEqual(await claimIds(context, limits, 1), ['0'])
      await advance(8 * unit)
      assert.deepEqual(await claimIds(context, limits, 2), ['1', '2'])
      await advance(12 * unit)
      assert.deepEqual(await claimIds(context, limits), ['3'])
      await advance(8 * unit)
      assert.deepEqual(await claimIds(context, limits), ['4', '5'])
    },
  },
  {
    name: 'a retry is a start too',
    proves: ['F22'],
    run: async (context) => {
      const limits = { rate: perWindow(context, 2) }
      await addAll(context, many(2))
      await retry(context.storage, (await claimWithin(context, limits, 1))[0]!)
      assert.deepEqual(await claimIds(context, limits), ['1'])
      assert.deepEqual(await claimIds(context, limits), [])
      await pass(context)
      assert.deepEqual(await claimIds(context, limits), ['0'])
    },
  },
  {
    name: 'a job that ends instead of running takes nothing of a rate',
    proves: ['F22', 'F5'],
    run: async (context) => {
      const { advance, unit } = context
      const limits = { rate: perWindow(context, 1), group: { rate: perWindow(context, 1) } }
      await addAll(context, [
        { expiresInMs: unit },
        { expiresInMs: unit, group: { key: 'g' } },
        { group: { key: 'g' } },
      ])
      await advance(2 * unit)
      assert.deepEqual(await claimIds(context, limits), ['2'])
    },
  },
  {
    name: 'a rate counts jobs of groups and jobs without one together',
    proves: ['F22'],
    run: async (context) => {
      await addAll(context, [{}, { group: { key: 'a' } }, { group: { key: 'b', ordered: true } }, {}])
      assert.equal((await claimWithin(context, { rate: perWindow(context, 2) })).length, 2)
    },
  },
  {
    name: 'a rate of one type does not limit another',
    proves: ['F22'],
    run: async (context) => {
      const { claim, unit } = context
      await addAll(
        context,
        [...many(3), ...many(3, { type: 'sms' })].map((fields, index) => ({ ...fields, id: `${index}` })),
      )
      const limits = { rate: perWindow(context, 1) }
      const types = [
        { type: 'mail', leaseMs: 10 * unit, limits },
        { type: 'sms', leaseMs: 10 * unit },
      ]
      assert.deepEqual(idsOf(await claim({ types })).toSorted(), ['0', '3', '4', '5'])
    },
  },
  {
    name: 'a window outlives the jobs that were started in it',
    proves: ['F22'],
    run: async (context) => {
      const { storage, advance, unit } = context
      const retention = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
      const limits = { rate: perWindow(context, 1) }
      const groupLimits = { group: { rate: perWindow(context, 1) } }
      await addAll(context, [{ retention }])
      for (const lease of await claimWithin(context, limits)) await complete(storage, lease)
      await storage.add([context.job({ type: 'sms', retention, group: { key: 'g' } })])
      const sms = [{ type: 'sms', leaseMs: 500 * unit, limits: groupLimits }]
      for (const lease of await context.claim({ types: sms })) await complete(storage, lease)
      await advance(unit)
      await storage.sweep({ limit: 100 })
      await storage.add([context.job(), context.job({ type: 'sms', group: { key: 'g' } })])
      assert.deepEqual(await claimIds(context, limits), [])
      assert.deepEqual(await context.claim({ types: sms }), [])
      await pass(context)
      await storage.sweep({ limit: 100 })
      assert.equal((await claimWithin(context, limits)).length, 1)
      assert.equal((await context.claim({ types: sms })).length, 1)
    },
  },
  {
    name: 'concurrent claims of two workers never exceed the rate of a type or a group',
    proves: ['F22'],
    run: async (context) => {
      const { claimRequest, unit } = context
      const handles = [context.storage, await context.another()]
      await addAll(
        context,
        Array.from({ length: 60 }, (_, index) => ({ group: { key: `${index % 3}` } })),
      )
      const rate = (limit: number) => ({ limit, perMs: 5_000 * unit })
      const limits = { rate: rate(10), group: { rate: rate(4) } }
      const types = [{ type: 'mail', leaseMs: 500 * unit, limits }]
      const started: ClaimedJob[] = []
      for (let round = 0; round < 4; round++) {
        const claims = Array.from({ length: 6 }, (_, index) =>
          handles[index % 2]!.claim(claimRequest({ slots: 2, types })),
        )
        started.push(...(await Promise.all(claims)).flatMap(({ jobs }) => jobs))
      }
      assert.equal(started.length, 10)
      for (const key of ['0', '1', '2']) assert.ok(started.filter(({ group }) => group === key).length <= 4)
    },
  },
]

const groupCases: readonly Case[] = [
  {
    name: 'every group has the rate for itself; jobs without a group have none',
    proves: ['F22'],
    run: async (context) => {
      const limits = { group: { rate: perWindow(context, 2) } }
      await addAll(context, [...many(3, { group: { key: 'a' } }), ...many(3, { group: { key: 'b' } }), ...many(3)])
      const jobs = await claimWithin(context, limits)
      const counts = ['a', 'b', undefined].map((key) => jobs.filter(({ group }) => group === key).length)
      assert.deepEqual(counts, [2, 2, 3])
      assert.deepEqual(await claimIds(context, limits), [])
      await pass(context)
      assert.equal((await claimWithin(context, limits)).length, 2)
    },
  },
  {
    name: 'a job that is added to a group whose rate is used waits with the others',
    proves: ['F22'],
    run: async (context) => {
      const limits = { group: { rate: perWindow(context, 1) } }
      const group = { key: 'g' }
      await addAll(context, [{ group }])
      for (const lease of await claimWithin(context, limits)) await complete(context.storage, lease)
      await context.added({ id: 'urgent', group, priority: 100 })
      assert.deepEqual(await claimIds(context, limits), [])
      await pass(context)
      assert.deepEqual(await claimIds(context, limits), ['urgent'])
    },
  },
  {
    name: 'an ordered group has its rate, and one job at a time',
    proves: ['F22', 'F21'],
    run: async (context) => {
      const limits = { group: { rate: perWindow(context, 2) } }
      await addAll(context, many(3, { group: { key: 'g', ordered: true } }))
      for (const id of ['0', '1']) {
        const [lease, ...more] = await claimWithin(context, limits)
        assert.deepEqual([lease?.id, more.length], [id, 0])
        await complete(context.storage, lease!)
      }
      assert.deepEqual(await claimIds(context, limits), [])
      await pass(context)
      assert.deepEqual(await claimIds(context, limits), ['2'])
    },
  },
  {
    name: 'the rates of a type, of groups and of single groups are kept together',
    proves: ['F22'],
    run: async (context) => {
      const limits = {
        rate: perWindow(context, 6),
        group: { rate: perWindow(context, 2) },
        groups: { big: { rate: perWindow(context, 5) } },
      }
      await addAll(context, [...many(9, { group: { key: 'big' } }), ...many(9, { group: { key: 'small' } })])
      const first = await claimWithin(context, limits)
      const countOf = (key: string): number => first.filter(({ group }) => group === key).length
      assert.deepEqual([countOf('big'), countOf('small')], [4, 2])
      assert.deepEqual(await claimIds(context, limits), [])
    },
  },
]

export const claimRateCases: readonly Case[] = [...typeCases, ...groupCases]
