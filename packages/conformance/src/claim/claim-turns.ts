// Turns: groups that have a job to claim take turns, and so do the jobs without a group, as one more group.

import assert from 'node:assert/strict'
import type { ClaimedJob, NewJob } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, retry } from '../outcomes.ts'
import { idsOf, refOf } from '../records.ts'
import { claimWithin } from '../scenarios.ts'

const unfair = { group: { fair: false } } as const

/** Adds jobs that are named by their group and a number. No group: 'none'. */
async function addAll(
  { storage, job }: CaseContext,
  key: string | undefined,
  count: number,
  fields: Partial<NewJob> = {},
): Promise<void> {
  const group = key === undefined ? {} : { group: { key, ...fields.group } }
  const jobs = Array.from({ length: count }, (_, index) =>
    job({ id: `${key ?? 'none'} ${index}`, ...fields, ...group }),
  )
  const verdicts = await storage.add(jobs as NewJob[])
  assert.ok(verdicts.every(({ verdict }) => verdict === 'added'))
}

const participantOf = ({ group }: ClaimedJob): string => group ?? 'none'

/** Asserts that each of n participants is among every n starts, as long as all of them have jobs. */
function inTurns(started: readonly ClaimedJob[], participants: readonly string[]): void {
  const names = started.map(participantOf)
  for (let first = 0; first + participants.length <= names.length; first += participants.length) {
    const round = names.slice(first, first + participants.length)
    assert.deepEqual(round.toSorted(), participants.toSorted(), `turns: ${names.join(' ')}`)
  }
}

/** Claims one job after the other, and completes each. */
async function oneByOne(context: CaseContext, count: number): Promise<ClaimedJob[]> {
  const started: ClaimedJob[] = []
  for (let index = 0; index < count; index++) {
    const job = (await context.claim({ slots: 1 }))[0]
    assert.ok(job, `expected ${count} jobs, got ${index}`)
    await complete(context.storage, job)
    started.push(job)
  }
  return started
}

const fairCases: readonly Case[] = [
  {
    name: 'groups take turns inside one claim',
    proves: ['F24'],
    run: async (context) => {
      for (const key of ['a', 'b', 'c']) await addAll(context, key, 3)
      inTurns(await context.claim(), ['a', 'b', 'c'])
    },
  },
  {
    name: 'groups take turns across claims',
    proves: ['F24'],
    run: async (context) => {
      for (const key of ['a', 'b', 'c']) await addAll(context, key, 3)
      inTurns(await oneByOne(context, 9), ['a', 'b', 'c'])
    },
  },
  {
    name: 'groups take turns across claims of two workers that hold their jobs',
    proves: ['F24'],
    run: async (context) => {
      const { claimRequest } = context
      const other = await context.another()
      for (const key of ['a', 'b', 'c']) await addAll(context, key, 4)
      const started: ClaimedJob[] = []
      for (const slots of [2, 1, 3, 2, 1, 3]) {
        const storage = slots === 1 ? other : context.storage
        started.push(...(await storage.claim(claimRequest({ slots }))).jobs)
      }
      inTurns(started, ['a', 'b', 'c'])
    },
  },
  {
    name: 'the jobs without a group take turns with the groups, as one more group',
    proves: ['F24'],
    run: async (context) => {
      await addAll(context, 'a', 4)
      await addAll(context, undefined, 4)
      await addAll(context, 'b', 4)
      inTurns((await context.claim({ slots: 6 })).concat(await oneByOne(context, 6)), ['a', 'b', 'none'])
    },
  },
  {
    name: 'ordered and unordered groups take turns with each other',
    proves: ['F24', 'F21'],
    run: async (context) => {
      await addAll(context, 'free', 3)
      const group = { key: 'ordered', ordered: true } as const
      await context.storage.add([1, 2, 3].map((number) => context.job({ id: `ordered ${number}`, group })))
      inTurns(await oneByOne(context, 6), ['free', 'ordered'])
    },
  },
  {
    name: 'behind a thousand jobs of one group, a job of another group is first or second',
    proves: ['F24'],
    run: async (context) => {
      for (let batch = 0; batch < 4; batch++) {
        await context.storage.add(Array.from({ length: 250 }, () => context.job({ group: { key: 'a' } })))
      }
      await addAll(context, 'b', 1)
      assert.ok((await oneByOne(context, 2)).map(participantOf).includes('b'))
    },
  },
  {
    name: 'behind a thousand jobs without a group, a job of a group is first or second',
    proves: ['F24'],
    run: async (context) => {
      for (let batch = 0; batch < 4; batch++) {
        await context.storage.add(Array.from({ length: 250 }, () => context.job()))
      }
      await addAll(context, 'b', 1)
      assert.ok((await context.claim({ slots: 2 })).map(participantOf).includes('b'))
    },
  },
  {
    name: 'a group that gets a job while others take turns is served after at most one start of each',
    proves: ['F24'],
    run: async (context) => {
      for (const key of ['a', 'b', 'c']) await addAll(context, key, 9)
      await oneByOne(context, 4)
      await addAll(context, 'late', 1)
      assert.ok((await oneByOne(context, 4)).map(participantOf).includes('late'))
    },
  },
  {
    name: 'a group that becomes due takes its turn from then on',
    proves: ['F24', 'F1'],
    run: async (context) => {
      const { advance, unit } = context
      await addAll(context, 'a', 9)
      await addAll(context, 'later', 3, { delayMs: 5 * unit })
      assert.deepEqual((await oneByOne(context, 2)).map(participantOf), ['a', 'a'])
      await advance(5 * unit)
      inTurns(await oneByOne(context, 6), ['a', 'later'])
    },
  },
  {
    name: 'inside an unordered group, the order is priority, then runAt, then acceptance',
    proves: ['F2', 'F21'],
    run: async (context) => {
      const { storage, job, advance, unit } = context
      const group = { key: 'g' }
      await storage.add([
        job({ id: 'late', group, delayMs: 3 * unit }),
        job({ id: 'low', group, priority: -1 }),
        job({ id: 'first', group }),
        job({ id: 'second', group }),
        job({ id: 'high but late', group, priority: 5, delayMs: 2 * unit }),
        job({ id: 'high', group, priority: 5 }),
      ])
      assert.deepEqual(idsOf(await oneByOne(context, 2)), ['high', 'first'])
      await advance(4 * unit)
      assert.deepEqual(idsOf(await oneByOne(context, 4)), ['high but late', 'second', 'late', 'low'])
    },
  },
  {
    name: 'a job of an unordered group that is not due holds no other',
    proves: ['F21', 'F1'],
    run: async (context) => {
      await addAll(context, 'g', 1, { id: 'later', priority: 9, delayMs: 50 * context.unit })
      await addAll(context, 'g', 2)
      assert.deepEqual(idsOf(await context.claim()), ['g 0', 'g 1'])
      assert.deepEqual(await context.claim(), [])
    },
  },
  {
    name: 'a priority counts inside a group, and not across groups',
    proves: ['F24', 'F2'],
    run: async (context) => {
      await addAll(context, 'urgent', 4, { priority: 100 })
      await addAll(context, 'normal', 4)
      inTurns(await oneByOne(context, 8), ['normal', 'urgent'])
    },
  },
  {
    name: 'a retry, a release and a recovery return a job to its unordered group, and every job runs',
    proves: ['F21', 'F24'],
    run: async (context) => {
      const { storage, claim, claimOne, advance, unit } = context
      await addAll(context, 'g', 1)
      await retry(storage, await claimOne(), 5 * unit)
      assert.deepEqual(await claim(), [])
      await advance(5 * unit)
      const again = await claimOne()
      await storage.settle([{ ...refOf(again), worker: again.worker, attempt: again.attempt, kind: 'released' }])
      await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
      await advance(2 * unit)
      await complete(storage, await claimOne())
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'the end, the move and the removal of waiting jobs leave the rest of an unordered group claimable',
    proves: ['F21'],
    run: async (context) => {
      const { storage, claim, unit } = context
      await addAll(context, 'g', 5)
      const refs = [0, 1, 2, 3, 4].map((number) => ({ type: 'mail', id: `g ${number}` }))
      await storage.cancel([refs[0]!])
      await storage.remove([refs[1]!], { trees: true })
      await storage.revive([refs[2]!], { delayMs: 50 * unit })
      await storage.settle([{ ...refs[3]!, chain: refs[3]!, token: 'by hand', kind: 'completed' }])
      assert.deepEqual(idsOf(await claim()), ['g 4'])
      await storage.revive([refs[2]!])
      assert.deepEqual(idsOf(await claim()), ['g 2'])
    },
  },
  {
    name: 'concurrent claims never take a job of an unordered group twice, and take all of them',
    proves: ['F21', 'S2'],
    run: async (context) => {
      const { claimRequest } = context
      const other = await context.another()
      for (const key of ['a', 'b']) await addAll(context, key, 20)
      await addAll(context, undefined, 20)
      const claims = Array.from({ length: 8 }, (_, index) =>
        (index % 2 === 0 ? context.storage : other).claim(claimRequest({ slots: 5 })),
      )
      const taken = (await Promise.all(claims)).flatMap(({ jobs }) => idsOf(jobs))
      // Rows that another call has locked may have been passed over.
      taken.push(...idsOf(await context.claim()))
      assert.equal(taken.length, 60)
      assert.equal(new Set(taken).size, 60)
    },
  },
]

const unfairCases: readonly Case[] = [
  {
    name: 'without turns, priority, then runAt, then acceptance decide across groups and jobs without one',
    proves: ['F24', 'F2'],
    run: async (context) => {
      const { storage, job } = context
      await storage.add([
        job({ id: '4', group: { key: 'a' } }),
        job({ id: '5', group: { key: 'a' } }),
        job({ id: '6' }),
        job({ id: '7', group: { key: 'b' } }),
        job({ id: '1', group: { key: 'b' }, priority: 3 }),
        job({ id: '2', priority: 2 }),
        job({ id: '3', group: { key: 'a' }, priority: 1 }),
      ])
      const inOne = await claimWithin(context, unfair, 4)
      const more = [...(await claimWithin(context, unfair, 2)), ...(await claimWithin(context, unfair))]
      assert.deepEqual(idsOf([...inOne, ...more]), ['1', '2', '3', '4', '5', '6', '7'])
    },
  },
  {
    name: 'without turns, an ordered group still runs one at a time, in acceptance order',
    proves: ['F24', 'F21'],
    run: async (context) => {
      const { storage, job } = context
      const group = { key: 'g', ordered: true } as const
      await storage.add([
        job({ id: 'head', group, priority: -5 }),
        job({ id: 'second', group, priority: 9 }),
        job({ id: 'other' }),
      ])
      const [other, head] = await claimWithin(context, unfair)
      assert.deepEqual([other?.id, head?.id], ['other', 'head'])
      assert.deepEqual(await claimWithin(context, unfair), [])
      await complete(storage, head!)
      assert.deepEqual(idsOf(await claimWithin(context, unfair)), ['second'])
    },
  },
  {
    name: 'without turns, the limit of a group is kept',
    proves: ['F24', 'F21'],
    run: async (context) => {
      await addAll(context, 'a', 3, { priority: 9 })
      await addAll(context, 'b', 1)
      const limits = { group: { fair: false, limit: 2 } }
      assert.deepEqual(idsOf(await claimWithin(context, limits)), ['a 0', 'a 1', 'b 0'])
      assert.deepEqual(await claimWithin(context, limits), [])
    },
  },
]

export const claimTurnCases: readonly Case[] = [...fairCases, ...unfairCases]
