// Jobs that an outcome adds: written in the same move as the outcome, with the verdicts of add, or neither is written.

import assert from 'node:assert/strict'
import type { NewJob } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'
import { outcomeAdding, sampleOutcome, settleOutcome } from '../outcomes.ts'
import { fenceOf, idsOf, recordOf, refOf, snapshotOf, statesOf } from '../records.ts'

const adding = ['completed', 'failed', 'continued'] as const

const kindCases: readonly Case[] = adding.flatMap((kind): Case[] => [
  {
    name: `an outcome of kind ${kind} adds its jobs and reports them after the continuation`,
    proves: ['F28', 'S13'],
    run: async ({ storage, added, job, claimOne, unit }) => {
      await added()
      const [next, one, two] = [job(), job({ type: 'other' }), job({ delayMs: 50 * unit })]
      const outcome = outcomeAdding(kind, fenceOf(await claimOne()), next, [one, two])
      const { added: verdicts } = await settleOutcome(storage, outcome)
      const expected = kind === 'continued' ? [next, one, two] : [one, two]
      assert.deepEqual(
        verdicts.map((each) => each.verdict === 'added' && each.job.id),
        idsOf(expected),
      )
      const records = await storage.get([refOf(one), refOf(two)])
      assert.deepEqual(
        records.map((record) => record?.state),
        ['queued', 'scheduled'],
      )
      assert.deepEqual(
        records.map((record) => refOf(record!.root)),
        [refOf(one), refOf(two)],
      )
      assert.ok(records.every((record) => record?.origin === undefined && record?.chainIndex === 0))
    },
  },
  {
    name: `an outcome of kind ${kind} with a job whose blocker is unknown is a conflict, and nothing is written`,
    proves: ['S13', 'S3', 'chains trap 11'],
    run: async ({ storage, added, job, claimOne }) => {
      await added()
      const lease = fenceOf(await claimOne())
      const before = await snapshotOf(storage, lease)
      const bad = job({ blockers: [{ type: 'mail', id: 'unknown' }] })
      const [next, good] = [job(), job({ deduplication: { key: 'k', mode: 'simple' } })]
      const [verdict] = await storage.settle([outcomeAdding(kind, lease, next, [good, bad])])
      assert.equal(verdict?.verdict, 'conflict')
      const addVerdict = verdict.added.at(-1)
      assert.ok(addVerdict?.verdict === 'blocker_not_found' && addVerdict.blocker.id === 'unknown')
      assert.deepEqual(await snapshotOf(storage, lease, next, good, bad), [...before, undefined, undefined, undefined])
      await added({ deduplication: { key: 'k', mode: 'simple' } })
      await settleOutcome(storage, sampleOutcome(kind, lease, next))
    },
  },
])

const otherCases: readonly Case[] = [
  {
    name: 'a duplicate among the added jobs does not refuse the outcome',
    proves: ['S3'],
    run: async ({ storage, added, job, claimOne }) => {
      const { id } = await added({ type: 'other' })
      await added()
      const add = [job({ type: 'other', id }), job({ type: 'other' })]
      const verdict = await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'completed', add })
      assert.deepEqual(
        [verdict.state, verdict.added.map((each) => each.verdict)],
        ['completed', ['duplicate', 'added']],
      )
    },
  },
  {
    name: 'jobs added by an outcome may block each other by position',
    proves: ['S13'],
    run: async ({ storage, added, job, claimOne }) => {
      await added()
      const add = [job({ token: 't', blockers: [1] }), job({ token: 't' })]
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'completed', add })
      assert.deepEqual(await statesOf(storage, ...add), ['blocked', 'queued'])
      assert.deepEqual(refOf((await recordOf(storage, add[1]!)).root), refOf(add[0]!))
    },
  },
  {
    name: 'a job added with the completion of its own blocker is due and has its result',
    proves: ['S13', 'chains trap 2'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added()
      const dependent = job({ blockers: [refOf(first)] })
      const lease = fenceOf(await claimOne())
      await settleOutcome(storage, { ...lease, kind: 'completed', result: bytes('result'), add: [dependent] })
      const claimed = await claimOne()
      assert.deepEqual([claimed.id, text(claimed.blockers[0]?.result)], [dependent.id, 'result'])
    },
  },
  {
    name: 'a job added with the completion of its own blocker has its result, even with a retention of 0 ms',
    proves: ['S13', 'chains trap 25'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added({ retention: { completedMs: 0, failedMs: 0, cancelledMs: 0 } })
      const dependent = job({ blockers: [refOf(first)] })
      const lease = fenceOf(await claimOne())
      const outcome = { ...lease, kind: 'completed', result: bytes('result'), add: [dependent] } as const
      assert.equal((await settleOutcome(storage, outcome)).added[0]?.verdict, 'added')
      assert.equal(text((await claimOne()).blockers[0]?.result), 'result')
    },
  },
  {
    name: 'a job added with the failure of its own blocker fails',
    proves: ['S13', 'chains trap 23'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added()
      const dependent = job({ blockers: [refOf(first)] })
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'failed', add: [dependent] })
      const { state, reason } = await recordOf(storage, dependent)
      assert.deepEqual([state, reason], ['failed', 'blocker_failed'])
    },
  },
  {
    name: 'two outcomes of a batch that add the same id add it once',
    proves: ['S11', 'S3'],
    run: async ({ storage, job, claim }) => {
      await storage.add([job(), job()])
      const [one, two] = (await claim()).map(fenceOf)
      const verdicts = await storage.settle([
        { ...one!, kind: 'completed', add: [job({ id: 'same' })] },
        { ...two!, kind: 'completed', add: [job({ id: 'same' })] },
      ])
      assert.deepEqual(
        verdicts.flatMap((verdict) => (verdict.verdict === 'settled' ? verdict.added.map((each) => each.verdict) : [])),
        ['added', 'duplicate'],
      )
    },
  },
  {
    name: 'a batch of outcomes with an unsupported job is refused, and nothing is written',
    proves: ['F25'],
    run: async ({ storage, job, claim }) => {
      await storage.add([job(), job()])
      const [one, two] = (await claim()).map(fenceOf)
      const bad = { ...job(), deduplication: { key: 'k', mode: 'unknown' } } as unknown as NewJob
      for (const outcome of [
        { ...two!, kind: 'completed', add: [bad] } as const,
        { ...two!, kind: 'continued', next: bad } as const,
      ])
        await assert.rejects(storage.settle([{ ...one!, kind: 'completed' }, outcome]), { code: 'FEATURE_UNSUPPORTED' })
      assert.deepEqual(await statesOf(storage, one!, two!), ['processing', 'processing'])
    },
  },
]

export const settleAddCases: readonly Case[] = [...kindCases, ...otherCases]
