// Blockers by position: jobs of one call that block each other are added together, below the job they block, or not at all.

import assert from 'node:assert/strict'
import type { AddVerdict } from 'holdfast/storage'
import { text } from '../case.ts'
import type { Case } from '../case.ts'
import { complete, fail } from '../outcomes.ts'
import { idsOf, recordOf, refOf, statesOf } from '../records.ts'

const verdictsOf = (verdicts: readonly AddVerdict[]): string[] => verdicts.map((verdict) => verdict.verdict)

export const addTreeCases: readonly Case[] = [
  {
    name: 'a blocker by position starts below the job it blocks and runs before it',
    proves: ['chains §3.2', 'S13'],
    run: async ({ storage, job, claimOne }) => {
      const [top, under] = [job({ token: 't', blockers: [1] }), job({ token: 't' })]
      assert.deepEqual(verdictsOf(await storage.add([top, under])), ['added', 'added'])
      const [record, blocker] = [await recordOf(storage, top, 'blockers'), await recordOf(storage, under)]
      assert.deepEqual([record.state, record.openBlockers, record.blockers?.map(refOf)], ['blocked', 1, [refOf(under)]])
      assert.deepEqual([refOf(record.root), record.origin], [refOf(top), undefined])
      assert.deepEqual(
        [refOf(blocker.root), refOf(blocker.origin!), refOf(blocker.chain)],
        [refOf(top), refOf(top), refOf(under)],
      )
      const first = await claimOne()
      assert.deepEqual([first.id, refOf(first.root), refOf(first.origin!)], [under.id, refOf(top), refOf(top)])
      await complete(storage, first, 'under')
      const second = await claimOne()
      assert.deepEqual([second.id, second.blockers.map(({ result }) => text(result))], [top.id, ['under']])
    },
  },
  {
    name: 'the blockers of a blocker have the top job as root and the job they block as origin',
    proves: ['chains §3.2'],
    run: async ({ storage, job }) => {
      const jobs = [job({ token: 't', blockers: [1] }), job({ token: 't', blockers: [2] }), job({ token: 't' })]
      await storage.add(jobs)
      const records = (await storage.get(jobs.map(refOf))).map((record) => record!)
      assert.deepEqual(
        records.map((record) => record.root.id),
        [jobs[0]!.id, jobs[0]!.id, jobs[0]!.id],
      )
      assert.deepEqual(
        records.map((record) => record.origin?.id),
        [undefined, jobs[0]!.id, jobs[1]!.id],
      )
      assert.deepEqual(
        records.map((record) => record.state),
        ['blocked', 'blocked', 'queued'],
      )
    },
  },
  {
    name: 'positions count in the whole batch, also when it holds jobs of other calls',
    proves: ['S3'],
    run: async ({ storage, job }) => {
      const jobs = [job(), job({ token: 't', blockers: [3] }), job(), job({ token: 't' })]
      assert.deepEqual(verdictsOf(await storage.add(jobs)), ['added', 'added', 'added', 'added'])
      const [, dependent] = await storage.get(jobs.map(refOf), { parts: ['blockers'] })
      assert.deepEqual(idsOf(dependent!.blockers!), [jobs[3]!.id])
    },
  },
  {
    name: 'two jobs may wait for one blocker by position, and both run after it',
    proves: ['S13'],
    run: async ({ storage, job, claim, claimOne }) => {
      const jobs = [job({ token: 't', blockers: [2] }), job({ token: 't', blockers: [2] }), job({ token: 't' })]
      await storage.add(jobs)
      const { unblocked } = await complete(storage, await claimOne())
      assert.deepEqual(idsOf(unblocked).toSorted(), idsOf(jobs.slice(0, 2)))
      assert.equal((await claim()).length, 2)
    },
  },
  {
    name: 'existing chains and positions may be mixed, and their order is kept',
    proves: ['chains §3.2'],
    run: async ({ storage, added, job, claim, claimOne }) => {
      const outside = await added()
      const jobs = [job({ token: 't', blockers: [1, refOf(outside), 2] }), job({ token: 't' }), job({ token: 't' })]
      await storage.add(jobs)
      for (const held of await claim()) await complete(storage, held, held.id)
      const order = [jobs[1]!.id, outside.id, jobs[2]!.id]
      assert.deepEqual(
        (await claimOne()).blockers.map(({ id, result }) => [id, text(result)]),
        order.map((id) => [id, id]),
      )
    },
  },
  {
    name: 'a blocker by position whose dependent is a duplicate is skipped with its own blockers',
    proves: ['S3', 'chains §3.2'],
    run: async ({ storage, added, job }) => {
      const taken = await added()
      const jobs = [
        job({ token: 't', id: taken.id, blockers: [1] }),
        job({ token: 't', blockers: [2], deduplication: { key: 'k', mode: 'simple' } }),
        job({ token: 't' }),
        job({ token: 'u' }),
      ]
      assert.deepEqual(verdictsOf(await storage.add(jobs)), ['duplicate', 'skipped', 'skipped', 'added'])
      assert.deepEqual((await statesOf(storage, ...jobs)).slice(1), [undefined, undefined, 'queued'])
      await added({ deduplication: { key: 'k', mode: 'simple' } })
    },
  },
  {
    name: 'a blocker by position is added if at least one of its dependents is added',
    proves: ['chains §3.2'],
    run: async ({ storage, added, job }) => {
      const taken = await added()
      const jobs = [
        job({ token: 't', id: taken.id, blockers: [2] }),
        job({ token: 't', blockers: [2] }),
        job({ token: 't' }),
      ]
      assert.deepEqual(verdictsOf(await storage.add(jobs)), ['duplicate', 'added', 'added'])
      const blocker = await recordOf(storage, jobs[2]!)
      assert.deepEqual([refOf(blocker.origin!), refOf(blocker.root)], [refOf(jobs[1]!), refOf(jobs[1]!)])
    },
  },
  {
    name: 'a blocker by position that is a duplicate stands for the existing chain',
    proves: ['chains trap 22', 'S13'],
    run: async ({ storage, added, job, claimOne }) => {
      const standing = await added()
      const jobs = [job({ token: 't', blockers: [1] }), job({ token: 't', id: standing.id })]
      assert.deepEqual(verdictsOf(await storage.add(jobs)), ['added', 'duplicate'])
      const record = await recordOf(storage, jobs[0]!, 'blockers')
      assert.deepEqual([record.state, record.openBlockers, idsOf(record.blockers!)], ['blocked', 1, [standing.id]])
      assert.equal((await recordOf(storage, standing)).origin, undefined)
      await complete(storage, await claimOne(), 'of the first')
      assert.deepEqual(
        (await claimOne()).blockers.map(({ result }) => text(result)),
        ['of the first'],
      )
    },
  },
  {
    name: 'a blocker by position that is a duplicate by key stands for the chain that holds the key',
    proves: ['chains trap 22', 'F25'],
    run: async ({ storage, added, job, claimOne }) => {
      const deduplication = { key: 'k', mode: 'simple' } as const
      const [outside, standing] = [await added({ type: 'other' }), await added({ deduplication })]
      const jobs = [
        job({ token: 't', blockers: [refOf(outside), 2, 1] }),
        job({ token: 't', type: 'other' }),
        job({ token: 't', deduplication }),
      ]
      assert.deepEqual(verdictsOf(await storage.add(jobs)), ['added', 'added', 'duplicate'])
      const record = await recordOf(storage, jobs[0]!, 'blockers')
      assert.deepEqual([record.openBlockers, idsOf(record.blockers!)], [3, [outside.id, standing.id, jobs[1]!.id]])
      await complete(storage, await claimOne(), 'of the first')
      assert.equal((await recordOf(storage, jobs[0]!)).openBlockers, 2)
    },
  },
  {
    name: 'a blocker by position that is a duplicate of a completed chain counts as completed',
    proves: ['chains trap 22'],
    run: async ({ storage, added, job, claimOne }) => {
      const standing = await added()
      await complete(storage, await claimOne(), 'cached')
      await storage.add([job({ token: 't', blockers: [1] }), job({ token: 't', id: standing.id })])
      assert.deepEqual(
        (await claimOne()).blockers.map(({ id, result }) => [id, text(result)]),
        [[standing.id, 'cached']],
      )
    },
  },
  {
    name: 'two positions that resolve to one chain by key are one open blocker, listed twice',
    proves: ['chains trap 22'],
    run: async ({ storage, job, claimOne }) => {
      const deduplication = { key: 'k', mode: 'simple' } as const
      const jobs = [
        job({ token: 't', blockers: [1, 2] }),
        job({ token: 't', deduplication }),
        job({ token: 't', deduplication }),
      ]
      assert.deepEqual(verdictsOf(await storage.add(jobs)), ['added', 'added', 'duplicate'])
      assert.equal((await recordOf(storage, jobs[0]!)).openBlockers, 1)
      await complete(storage, await claimOne(), 'once')
      const top = await claimOne()
      assert.deepEqual(
        top.blockers.map(({ id, result }) => [id, text(result)]),
        [
          [jobs[1]!.id, 'once'],
          [jobs[1]!.id, 'once'],
        ],
      )
    },
  },
  {
    name: 'one position named twice is one open blocker',
    proves: ['chains trap 22'],
    run: async ({ storage, job, claimOne }) => {
      const jobs = [job({ token: 't', blockers: [1, 1] }), job({ token: 't' })]
      await storage.add(jobs)
      assert.equal((await recordOf(storage, jobs[0]!)).openBlockers, 1)
      await complete(storage, await claimOne())
      assert.equal((await claimOne()).blockers.length, 2)
    },
  },
  {
    name: 'a failed blocker by position fails every job above it in one move',
    proves: ['chains trap 23', 'S13'],
    run: async ({ storage, job, claimOne }) => {
      const jobs = [job({ token: 't', blockers: [1] }), job({ token: 't', blockers: [2] }), job({ token: 't' })]
      await storage.add(jobs)
      const { ended } = await fail(storage, await claimOne())
      assert.deepEqual(idsOf(ended).toSorted(), idsOf(jobs.slice(0, 2)))
      assert.deepEqual(await statesOf(storage, ...jobs), ['failed', 'failed', 'failed'])
    },
  },
]
