// Pauses of ordered groups: a pause affects one group of one type.

import assert from 'node:assert/strict'
import type { TypeCounts } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete } from '../outcomes.ts'
import { idsOf, recordOf, refOf } from '../records.ts'
import { claimType, inState, runOne } from '../scenarios.ts'

const inGroup = (key: string) => ({ group: { key, ordered: true } }) as const

/** The counts of a type, if it has a record or is paused. */
export const countsOf = async ({ storage }: CaseContext, type: string): Promise<TypeCounts | undefined> =>
  (await storage.count({})).types.find((counts) => counts.type === type)

export const pauseGroupCases: readonly Case[] = [
  {
    name: 'a paused group is not claimed; other groups and jobs without a group are',
    proves: ['F26', 'S22'],
    run: async ({ storage, added, claim }) => {
      const held = [await added(inGroup('g')), await added(inGroup('g'))]
      const free = [await added(inGroup('h')), await added()]
      await storage.pause({ type: 'mail', group: 'g', paused: true })
      assert.deepEqual(idsOf(await claim()).toSorted(), idsOf(free))
      await storage.pause({ type: 'mail', group: 'g', paused: false })
      assert.deepEqual(idsOf(await claim()), [held[0]!.id])
    },
  },
  {
    name: 'a group of the same key in another type is not paused',
    proves: ['S24'],
    run: async (context) => {
      const { storage, added } = context
      await storage.pause({ type: 'mail', group: 'g', paused: true })
      const other = await added({ type: 'sms', ...inGroup('g') })
      assert.equal((await claimType(context, 'sms')).id, other.id)
    },
  },
  {
    name: 'type and group are separate names: pausing (a, b:c) does not pause (a:b, c)',
    proves: ['trap 14', 'S24'],
    run: async (context) => {
      const { storage, added } = context
      await storage.pause({ type: 'a', group: 'b:c', paused: true })
      await storage.pause({ type: 'a:b', paused: false })
      await added({ type: 'a:b', ...inGroup('c') })
      await claimType(context, 'a:b')
    },
  },
  {
    name: 'the running head of a paused group continues; the next job waits until the group is resumed',
    proves: ['F26', 'F21'],
    run: async ({ storage, added, claim, claimOne }) => {
      const [, second] = [await added(inGroup('g')), await added(inGroup('g'))]
      const lease = await claimOne()
      await storage.pause({ type: 'mail', group: 'g', paused: true })
      await complete(storage, lease)
      assert.deepEqual(await claim(), [])
      await storage.pause({ type: 'mail', group: 'g', paused: false })
      assert.equal((await claimOne()).id, second.id)
    },
  },
  {
    name: 'a job that lost its lease in a paused group runs again first after the group is resumed',
    proves: ['S15', 'S22'],
    run: async ({ storage, added, advance, claim, claimOne, unit }) => {
      const [head] = [await added(inGroup('g')), await added(inGroup('g'))]
      await claimOne()
      await storage.pause({ type: 'mail', group: 'g', paused: true })
      await advance(11 * unit)
      assert.deepEqual(await claim(), [])
      await storage.recover({ types: ['mail'], limit: 10 })
      assert.deepEqual(await claim(), [])
      await storage.pause({ type: 'mail', group: 'g', paused: false })
      const { id, failures } = await claimOne()
      assert.deepEqual([id, failures], [head.id, 1])
    },
  },
  {
    name: 'pauses of a type and of its group end separately',
    run: async ({ storage, added, claim }) => {
      const [grouped, single] = [await added(inGroup('g')), await added()]
      const pause = (paused: boolean, group?: string) =>
        storage.pause(group === undefined ? { type: 'mail', paused } : { type: 'mail', group, paused })
      await pause(true)
      await pause(true, 'g')
      await pause(false)
      assert.deepEqual(idsOf(await claim()), [single.id])
      await pause(true)
      await pause(false, 'g')
      assert.deepEqual(await claim(), [])
      await pause(false)
      assert.deepEqual(idsOf(await claim()), [grouped.id])
    },
  },
  {
    name: 'counts list the paused groups of a type with since and by',
    proves: ['F26'],
    run: async (context) => {
      const { storage, now } = context
      const before = await now()
      await storage.pause({ type: 'mail', group: 'g', paused: true, by: 'ops' })
      await storage.pause({ type: 'mail', group: 'h', paused: true })
      await storage.pause({ type: 'mail', group: 'g', paused: true, by: 'ops' })
      const counts = (await countsOf(context, 'mail'))!
      const groups = counts.pausedGroups.toSorted((a, b) => (a.group < b.group ? -1 : 1))
      assert.deepEqual(
        groups.map(({ group, by }) => [group, by]),
        [
          ['g', 'ops'],
          ['h', undefined],
        ],
      )
      assert.ok(groups.every(({ since }) => since >= before))
      assert.equal(counts.paused, undefined)
      for (const group of ['g', 'h']) await storage.pause({ type: 'mail', group, paused: false })
      assert.equal(await countsOf(context, 'mail'), undefined)
    },
  },
  {
    name: 'the pause of a package: a pause of an operator replaces it, and the package does not end that one',
    proves: ['F26'],
    run: async (context) => {
      const { storage, added, claim, claimOne } = context
      const job = await added(inGroup('g'))
      const byPackage = { type: 'mail', group: 'g', by: '@holdfast/federation' }
      const namesOf = async (): Promise<(string | undefined)[]> =>
        (await countsOf(context, 'mail'))!.pausedGroups.map(({ by }) => by)
      await storage.pause({ ...byPackage, paused: true })
      await storage.pause({ ...byPackage, by: 'ops', paused: true })
      assert.deepEqual(await namesOf(), ['ops'])
      await storage.pause({ ...byPackage, paused: true })
      await storage.pause({ ...byPackage, paused: false })
      assert.deepEqual(await namesOf(), ['ops'])
      assert.deepEqual(await claim(), [])
      await storage.pause({ ...byPackage, by: 'ada', paused: false })
      await storage.pause({ ...byPackage, paused: true })
      assert.deepEqual(await claim(), [])
      await storage.pause({ ...byPackage, paused: false })
      assert.equal((await claimOne()).id, job.id)
    },
  },
  {
    name: 'the pause of a package of a whole type gives way to that of an operator, too',
    run: async (context) => {
      const { storage } = context
      const byPackage = { type: 'mail', by: '@holdfast/federation' }
      await storage.pause({ ...byPackage, paused: true })
      await storage.pause({ type: 'mail', paused: true })
      await storage.pause({ ...byPackage, paused: false })
      assert.equal((await countsOf(context, 'mail'))!.paused!.by, undefined)
      await storage.pause({ type: 'mail', paused: false })
      assert.equal(await countsOf(context, 'mail'), undefined)
    },
  },
  {
    name: 'an unblocked job of a paused group waits for the group',
    run: async (context) => {
      const { storage, claim, claimOne } = context
      const job = await inState(context, 'blocked', inGroup('g'))
      await storage.pause({ type: 'mail', group: 'g', paused: true })
      await runOne(context, 'open blocker')
      assert.equal((await recordOf(storage, job)).state, 'queued')
      assert.deepEqual(await claim(), [])
      await storage.pause({ type: 'mail', group: 'g', paused: false })
      assert.equal((await claimOne()).id, refOf(job).id)
    },
  },
]
