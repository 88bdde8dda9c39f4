// Limits: how many jobs of a type, and of a group, may be in processing, over all workers and at every instant.

import assert from 'node:assert/strict'
import type { ClaimedJob, Limits, Outcome } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, fail, retry, settleOne } from '../outcomes.ts'
import { fenceOf, idsOf, refOf } from '../records.ts'
import { claimWithin } from '../scenarios.ts'

/** Everything that takes a job out of processing. */
const ends: readonly (readonly [string, (context: CaseContext, lease: ClaimedJob) => Promise<unknown>])[] = [
  ['completes', ({ storage }, lease) => complete(storage, lease)],
  ['fails', ({ storage }, lease) => fail(storage, lease)],
  ['waits for a retry', ({ storage, unit }, lease) => retry(storage, lease, 50 * unit)],
  ['is snoozed', ({ storage, unit }, lease) => settleOne(storage, lease, { kind: 'released', delayMs: 50 * unit })],
  [
    'is continued by a job of another type',
    ({ storage, job }, lease) => settleOne(storage, lease, { kind: 'continued', next: job({ type: 'next' }) }),
  ],
  ['is cancelled by force', ({ storage }, lease) => storage.cancel([refOf(lease)], { force: true })],
  ['is removed', ({ storage }, lease) => storage.remove([refOf(lease)], { trees: true })],
  [
    'is completed without a worker',
    ({ storage }, lease) =>
      storage.settle([{ ...refOf(lease), chain: refOf(lease), token: 'by hand', kind: 'completed' }]),
  ],
  [
    'is recovered by its age',
    async ({ storage, advance, unit }) => {
      await advance(2 * unit)
      assert.equal((await storage.recover({ types: ['mail'], limit: 1, olderThanMs: unit })).length, 1)
    },
  ],
]

const room = (limits: Limits, what: string, group?: string): Case[] =>
  ends.map(([end, arrange]) => ({
    name: `a job that ${end} makes room in ${what}`,
    proves: [group === undefined ? 'F20' : 'F21'],
    run: async (context) => {
      const { added } = context
      for (const id of ['first', 'second', 'third'])
        await added({ id, ...(group !== undefined && { group: { key: group } }) })
      const [lease, ...more] = await claimWithin(context, limits)
      assert.deepEqual([lease?.id, more.length], ['first', 0])
      assert.deepEqual(await claimWithin(context, limits), [])
      await arrange(context, lease!)
      assert.deepEqual(idsOf(await claimWithin(context, limits)), ['second'])
      assert.deepEqual(await claimWithin(context, limits), [])
    },
  }))

const concurrencyCases: readonly Case[] = [
  ...room({ concurrency: 1 }, 'a type at its concurrency'),
  {
    name: 'a type has at most its concurrency in processing, in one claim and over several',
    proves: ['F20'],
    run: async (context) => {
      const { storage, job } = context
      await storage.add([1, 2, 3, 4].map(() => job()).concat([5, 6, 7].map(() => job({ group: { key: 'g' } }))))
      const limits = { concurrency: 3 }
      const first = await claimWithin(context, limits, 2)
      const second = await claimWithin(context, limits)
      assert.deepEqual([first.length, second.length], [2, 1])
      assert.deepEqual(await claimWithin(context, limits), [])
      await complete(storage, first[0]!)
      await complete(storage, second[0]!)
      assert.equal((await claimWithin(context, limits)).length, 2)
    },
  },
  {
    name: 'claims of any size, with outcomes, never exceed the concurrency of a type: also if leases are listed together',
    proves: ['F20'],
    run: async (context) => {
      const { storage, job, claimRequest, unit } = context
      await storage.add(Array.from({ length: 30 }, () => job()))
      const types = [{ type: 'mail', leaseMs: 500 * unit, limits: { concurrency: 8 } }]
      const held: ClaimedJob[] = []
      const claimMore = async (slots: number, ending = 0): Promise<number> => {
        const outcomes = held.splice(0, ending).map((lease): Outcome => ({ ...fenceOf(lease), kind: 'completed' }))
        const { jobs } = await storage.claim(claimRequest({ slots, types, outcomes }))
        held.push(...jobs)
        return jobs.length
      }
      assert.deepEqual([await claimMore(5), await claimMore(1), await claimMore(1)], [5, 1, 1])
      assert.deepEqual([await claimMore(1), await claimMore(1)], [1, 0])
      assert.deepEqual([await claimMore(1, 1), await claimMore(1)], [1, 0])
      assert.deepEqual([await claimMore(100, 6), await claimMore(1)], [6, 0])
      assert.deepEqual([await claimMore(3, 5), await claimMore(3), await claimMore(3)], [3, 2, 0])
    },
  },
  {
    name: 'concurrent claims of two workers never exceed the concurrency of a type, nor the limit of a group',
    proves: ['F20', 'F21'],
    run: async (context) => {
      const { claimRequest, unit } = context
      const handles = [context.storage, await context.another()]
      await context.storage.add(
        Array.from({ length: 60 }, (_, index) =>
          context.job(index % 3 === 0 ? {} : { group: { key: index % 3 === 1 ? 'a' : 'b' } }),
        ),
      )
      const limits = { concurrency: 5, group: { limit: 2 } }
      const held: ClaimedJob[] = []
      for (let round = 0; round < 6; round++) {
        const claims = Array.from({ length: 6 }, (_, index) =>
          handles[index % 2]!.claim(claimRequest({ slots: 4, types: [{ type: 'mail', leaseMs: 500 * unit, limits }] })),
        )
        held.push(...(await Promise.all(claims)).flatMap(({ jobs }) => jobs))
        assert.ok(held.length <= 5, `${held.length} jobs in processing`)
        for (const key of ['a', 'b']) assert.ok(held.filter(({ group }) => group === key).length <= 2)
        for (const lease of held.splice(0, 1 + (round % 3))) await complete(handles[round % 2]!, lease)
      }
    },
  },
  {
    name: 'a lost lease counts until its end, and a claim after it has its room',
    proves: ['F20'],
    run: async (context) => {
      const { added, claim, advance, unit } = context
      await added({ id: 'lost' })
      await added({ id: 'other' })
      const types = [{ type: 'mail', leaseMs: 4 * unit, limits: { concurrency: 1 } }]
      assert.deepEqual(idsOf(await claim({ types })), ['lost'])
      assert.deepEqual(await claim({ types }), [])
      await advance(5 * unit)
      assert.deepEqual(idsOf(await claim({ types })), ['other'])
      assert.deepEqual(await claim({ types }), [])
    },
  },
  {
    name: 'a claim has the room of the outcomes that it settles',
    proves: ['F20', 'F21'],
    run: async (context) => {
      const { storage, added, claimRequest, unit } = context
      for (const id of ['1', '2', '3']) await added({ id, group: { key: 'g' } })
      const types = [{ type: 'mail', leaseMs: 500 * unit, limits: { concurrency: 1, group: { limit: 1 } } }]
      let { jobs } = await storage.claim(claimRequest({ types }))
      for (const id of ['2', '3']) {
        const outcomes = jobs.map((job) => ({ ...fenceOf(job), kind: 'completed' as const }))
        jobs = (await storage.claim(claimRequest({ types, outcomes }))).jobs
        assert.deepEqual(idsOf(jobs), [id])
      }
    },
  },
  {
    name: 'a type at its concurrency leaves the slots of a claim to other types',
    proves: ['F20'],
    run: async (context) => {
      const { storage, job, claim, unit } = context
      await storage.add([1, 2, 3].flatMap(() => [job(), job({ type: 'sms' })]))
      const types = [
        { type: 'mail', leaseMs: 10 * unit, limits: { concurrency: 1 } },
        { type: 'sms', leaseMs: 10 * unit },
      ]
      const jobs = await claim({ slots: 4, types })
      assert.deepEqual(
        jobs.map(({ type }) => type),
        ['mail', 'sms', 'sms', 'sms'],
      )
    },
  },
  {
    name: 'a job that ends instead of running takes no room',
    proves: ['F20', 'F5'],
    run: async (context) => {
      const { added, advance, unit } = context
      await added({ id: 'late', expiresInMs: unit })
      await added({ id: 'late in a group', expiresInMs: unit, group: { key: 'g' } })
      await added({ id: 'in time' })
      await advance(2 * unit)
      assert.deepEqual(idsOf(await claimWithin(context, { concurrency: 1, group: { limit: 1 } })), ['in time'])
    },
  },
]

const groupCases: readonly Case[] = [
  ...room({ group: { limit: 1 } }, 'a group at its limit', 'g'),
  {
    name: 'without a limit, an unordered group has any number of jobs in processing',
    proves: ['F21'],
    run: async ({ storage, job, claim }) => {
      await storage.add(Array.from({ length: 20 }, () => job({ group: { key: 'g' } })))
      assert.equal((await claim()).length, 20)
    },
  },
  {
    name: 'a group has at most its limit in processing; other groups and jobs without one go on',
    proves: ['F21'],
    run: async (context) => {
      const { storage, job } = context
      await storage.add(['a', 'a', 'a', 'b', 'b', 'b'].map((key) => job({ group: { key } })).concat([job(), job()]))
      const limits = { group: { limit: 2 } }
      const jobs = await claimWithin(context, limits)
      assert.deepEqual(jobs.map(({ group = 'none' }) => group).toSorted(), ['a', 'a', 'b', 'b', 'none', 'none'])
      assert.deepEqual(await claimWithin(context, limits), [])
      await complete(
        storage,
        jobs.find(({ group }) => group === 'b')!,
      )
      assert.deepEqual(
        (await claimWithin(context, limits)).map(({ group }) => group),
        ['b'],
      )
    },
  },
  {
    name: 'a group may have limits of its own, whatever its key is',
    proves: ['F21'],
    run: async (context) => {
      const { storage, job } = context
      const keys = ['__proto__', 'toString', 'constructor', 'own']
      await storage.add(keys.flatMap((key) => [1, 2, 3, 4].map(() => job({ group: { key } }))))
      const groups = Object.fromEntries([
        ['__proto__', { limit: 3 }],
        ['own', {}],
      ])
      const jobs = await claimWithin(context, { group: { limit: 1 }, groups })
      const counts = keys.map((key) => jobs.filter(({ group }) => group === key).length)
      assert.deepEqual(counts, [3, 1, 1, 4])
    },
  },
  {
    name: 'an ordered group has one job in processing, whatever its limit',
    proves: ['F21'],
    run: async (context) => {
      const { storage, job } = context
      const group = { key: 'g', ordered: true } as const
      await storage.add([job({ id: 'head', group }), job({ id: 'second', group })])
      assert.deepEqual(idsOf(await claimWithin(context, { group: { limit: 5 } })), ['head'])
    },
  },
  {
    name: 'a lost lease counts in its group until its end, and a claim after it has its room',
    proves: ['F21'],
    run: async (context) => {
      const { added, claim, advance, unit } = context
      for (const id of ['lost', 'other']) await added({ id, group: { key: 'g' } })
      const types = [{ type: 'mail', leaseMs: 4 * unit, limits: { group: { limit: 1 } } }]
      assert.deepEqual(idsOf(await claim({ types })), ['lost'])
      assert.deepEqual(await claim({ types }), [])
      await advance(5 * unit)
      assert.deepEqual(idsOf(await claim({ types })), ['other'])
    },
  },
  {
    name: 'a full group that was paused and resumed is still full',
    proves: ['F21', 'F26'],
    run: async (context) => {
      const { storage, added } = context
      for (const id of ['1', '2']) await added({ id, group: { key: 'g' } })
      const limits = { group: { limit: 1 } }
      const [lease] = await claimWithin(context, limits)
      for (const paused of [true, false]) await storage.pause({ type: 'mail', group: 'g', paused })
      assert.deepEqual(await claimWithin(context, limits), [])
      await storage.pause({ type: 'mail', group: 'g', paused: true })
      await complete(storage, lease!)
      assert.deepEqual(await claimWithin(context, limits), [])
      await storage.pause({ type: 'mail', group: 'g', paused: false })
      assert.deepEqual(idsOf(await claimWithin(context, limits)), ['2'])
    },
  },
]

const checkCases: readonly Case[] = [
  {
    name: 'limits outside the contract are refused, and nothing is claimed',
    proves: ['F20', 'F22'],
    run: async (context) => {
      const { storage, added, claim } = context
      await added()
      const wrong: Limits[] = [
        { concurrency: 0 },
        { concurrency: 1.5 },
        { rate: { limit: 0, perMs: 1_000 } },
        { rate: { limit: 1, perMs: 0 } },
        { group: { limit: -1 } },
        { groups: { g: { rate: { limit: 1, perMs: Number.NaN } } } },
      ]
      for (const limits of wrong) {
        await assert.rejects(claimWithin(context, limits), { code: 'INVALID_ARGUMENT' })
        await assert.rejects(storage.count({ limits: { type: 'mail', limits } }), { code: 'INVALID_ARGUMENT' })
      }
      assert.equal((await claim()).length, 1)
    },
  },
]

export const claimLimitCases: readonly Case[] = [...concurrencyCases, ...groupCases, ...checkCases]
