// Settle without a worker: accepted for a chain whose tail is the expected one, in any live state, and for no other.

import assert from 'node:assert/strict'
import type { JobRef, JobState, Workerless } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case, CaseContext } from '../case.ts'
import { complete, continueWith, fail, retry, settleOutcome } from '../outcomes.ts'
import { fenceOf, recordOf, refOf, snapshotOf, statesOf } from '../records.ts'

const byHand = (tail: JobRef, chain: JobRef = tail, token = 'by hand'): Workerless => ({
  ...refOf(tail),
  chain: refOf(chain),
  token,
})

const live: readonly (readonly [JobState, (context: CaseContext) => Promise<JobRef>])[] = [
  ['queued', ({ added }) => added()],
  ['scheduled', ({ added, unit }) => added({ delayMs: 500 * unit })],
  ['blocked', async ({ added }) => added({ blockers: [refOf(await added({ type: 'other' }))] })],
  [
    'processing',
    async ({ added, claimOne }) => {
      await added()
      return claimOne({ label: 'host' })
    },
  ],
  [
    'failing',
    async ({ storage, added, claimOne, unit }) => {
      const job = await added()
      await retry(storage, await claimOne(), 500 * unit)
      return job
    },
  ],
]

const liveCases: readonly Case[] = live.flatMap(([state, arrange]): Case[] => [
  {
    name: `a ${state} job can be completed without a worker and never runs again`,
    proves: ['chains §3.8', 'S8'],
    run: async (context) => {
      const { storage, claim, advance, unit } = context
      const job = await arrange(context)
      const { attempt } = await recordOf(storage, job)
      const verdict = await settleOutcome(storage, { ...byHand(job), kind: 'completed', result: bytes('by hand') })
      const record = await recordOf(storage, job, 'result')
      assert.deepEqual([verdict.state, record.state, text(record.result)], ['completed', 'completed', 'by hand'])
      assert.deepEqual([record.label, record.leaseUntil, record.attempt], [undefined, undefined, attempt])
      assert.equal(record.expiresAt, record.finishedAt! + record.retention.completedMs)
      await advance(11 * unit)
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: `a ${state} job can be continued without a worker`,
    proves: ['chains trap 12'],
    run: async (context) => {
      const { storage, job } = context
      const first = await arrange(context)
      const next = job({ type: 'next' })
      const verdict = await settleOutcome(storage, { ...byHand(first), kind: 'continued', next })
      assert.deepEqual([verdict.state, verdict.added[0]?.verdict, [...verdict.unblocked]], ['completed', 'added', []])
      const record = await recordOf(storage, first, 'result', 'tail')
      assert.deepEqual([record.state, record.result, record.tail?.id], ['completed', undefined, next.id])
      const { chain, chainIndex, origin } = await recordOf(storage, next)
      assert.deepEqual([refOf(chain), chainIndex, refOf(origin!)], [refOf(first), 1, refOf(first)])
    },
  },
])

const refusedCases: readonly Case[] = [
  {
    name: 'a settle without a worker for a tail that was continued answers already_completed and changes nothing',
    proves: ['chains trap 13', 'S13'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added()
      const next = job()
      await continueWith(storage, await claimOne(), next)
      const before = await snapshotOf(storage, first, next)
      const [verdict] = await storage.settle([
        { ...byHand(first), kind: 'continued', next: job({ id: 'second tail' }) },
      ])
      assert.equal(verdict?.verdict, 'already_completed')
      assert.deepEqual(await snapshotOf(storage, first, next), before)
      await settleOutcome(storage, { ...byHand(next, first), kind: 'completed', result: bytes('end') })
      assert.equal((await recordOf(storage, first, 'tail')).tail?.state, 'completed')
    },
  },
  {
    name: 'a settle without a worker of an ended job answers already_completed or cancelled, of an unknown one not_found',
    proves: ['S8', 'S9'],
    run: async ({ storage, job, claim }) => {
      await storage.add([job({ id: 'done' }), job({ id: 'broken' }), job({ id: 'stopped' })])
      const [done, broken, stopped] = await claim()
      await complete(storage, done!, 'first')
      await fail(storage, broken!)
      await storage.cancel([refOf(stopped!)], { force: true })
      const jobs = [done!, broken!, stopped!, { type: 'mail', id: 'unknown' }]
      const before = await snapshotOf(storage, ...jobs)
      const verdicts = await storage.settle(jobs.map((each) => ({ ...byHand(each), kind: 'completed' }) as const))
      assert.deepEqual(
        verdicts.map(({ verdict }) => verdict),
        ['already_completed', 'already_completed', 'cancelled', 'not_found'],
      )
      assert.deepEqual(await snapshotOf(storage, ...jobs), before)
    },
  },
  {
    name: 'the tail of another chain is not accepted',
    proves: ['S13'],
    run: async ({ storage, added }) => {
      const [one, two] = [await added(), await added()]
      const [verdict] = await storage.settle([{ ...byHand(one, two), kind: 'completed' }])
      assert.notEqual(verdict?.verdict, 'settled')
      assert.deepEqual(await statesOf(storage, one, two), ['queued', 'queued'])
    },
  },
]

const repeatCases: readonly Case[] = (['completed', 'continued'] as const).map((kind) => ({
  name: `a repeated ${kind} without a worker is recognised by its token; another token is refused`,
  proves: ['R3', 'S7', 'chains trap 13'],
  run: async ({ storage, added, job }) => {
    const first = await added()
    const next = job()
    const outcome = (token: string) =>
      kind === 'completed'
        ? ({ ...byHand(first, first, token), kind, result: bytes(token) } as const)
        : ({ ...byHand(first, first, token), kind, next } as const)
    await settleOutcome(storage, outcome('mine'))
    const before = await snapshotOf(storage, first, next)
    const repeat = await settleOutcome(storage, outcome('mine'))
    assert.deepEqual(
      [repeat.state, [...repeat.added], [...repeat.ended], [...repeat.unblocked]],
      ['completed', [], [], []],
    )
    assert.equal((await storage.settle([outcome('yours')]))[0]?.verdict, 'already_completed')
    assert.deepEqual(await snapshotOf(storage, first, next), before)
  },
}))

const effectCases: readonly Case[] = [
  {
    name: 'a completion without a worker unblocks dependents and gives them its result',
    proves: ['chains §3.8', 'S13'],
    run: async ({ storage, added, claimOne, unit }) => {
      const blocker = await added({ delayMs: 500 * unit })
      const dependent = await added({ type: 'other', blockers: [refOf(blocker)] })
      const verdict = await settleOutcome(storage, { ...byHand(blocker), kind: 'completed', result: bytes('by hand') })
      assert.deepEqual(verdict.unblocked.map(refOf), [refOf(dependent)])
      const claimed = await claimOne({ types: [{ type: 'other', leaseMs: 10 * unit }] })
      assert.equal(text(claimed.blockers[0]?.result), 'by hand')
    },
  },
  {
    name: 'a failure without a worker fails the chain and its dependents',
    proves: ['chains §3.8', 'chains trap 23'],
    run: async ({ storage, added }) => {
      const blocker = await added()
      const dependent = await added({ type: 'other', blockers: [refOf(blocker)] })
      await settleOutcome(storage, { ...byHand(blocker), kind: 'failed', error: bytes('given up') })
      assert.deepEqual(await statesOf(storage, blocker, dependent), ['failed', 'failed'])
      assert.equal(text((await recordOf(storage, blocker, 'error')).error), 'given up')
    },
  },
  {
    name: 'blockers that end after a dependent was completed without a worker do not change it',
    proves: ['S8', 'S19', 'chains §3.8'],
    run: async ({ storage, added, claim }) => {
      const [one, two] = [await added(), await added()]
      const dependent = await added({ type: 'other', blockers: [refOf(one), refOf(two)] })
      await settleOutcome(storage, { ...byHand(dependent), kind: 'completed', result: bytes('early') })
      const [held, other] = await claim()
      assert.deepEqual([...(await complete(storage, held!)).unblocked], [])
      assert.deepEqual([...(await fail(storage, other!)).ended], [])
      const { state, result } = await recordOf(storage, dependent, 'result')
      assert.deepEqual([state, text(result)], ['completed', 'early'])
    },
  },
  {
    name: 'a completion without a worker frees the key',
    proves: ['F25', 'S20'],
    run: async ({ storage, added }) => {
      const deduplication = { key: 'k', mode: 'simple' } as const
      const job = await added({ deduplication })
      await settleOutcome(storage, { ...byHand(job), kind: 'completed' })
      await added({ deduplication })
    },
  },
  {
    name: 'of a concurrent worker and a settle without a worker one is accepted and the other refused',
    proves: ['chains trap 13', 'S7'],
    run: async ({ storage, another, added, claimOne }) => {
      const other = await another()
      for (let round = 0; round < 10; round++) {
        const job = await added()
        const lease = fenceOf(await claimOne())
        const verdicts = await Promise.all([
          storage.settle([{ ...lease, kind: 'completed', result: bytes('0') }]),
          other.settle([{ ...byHand(job), kind: 'completed', result: bytes('1') }]),
        ])
        const answers = verdicts.map(([verdict]) => verdict!.verdict)
        assert.deepEqual([...answers].toSorted(), ['already_completed', 'settled'])
        assert.equal(text((await recordOf(storage, job, 'result')).result), `${answers.indexOf('settled')}`)
      }
    },
  },
]

export const settleWorkerlessCases: readonly Case[] = [...liveCases, ...refusedCases, ...repeatCases, ...effectCases]
