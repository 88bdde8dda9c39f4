// cancel of a running job: asked to stop, it ends by its outcome and the request; by force it ends at once.

import assert from 'node:assert/strict'
import type { JobState, LeaseRef } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case, CaseContext } from '../case.ts'
import { type Ending, outcomeOf, settleOne, settleVerdict } from '../outcomes.ts'
import { findRecord, idsOf, recordOf, refOf, stateOf } from '../records.ts'

const extension = ({ type, id, worker, attempt }: LeaseRef, leaseMs: number) => ({ type, id, worker, attempt, leaseMs })

/** Every end of an attempt, with the state in which it leaves a job that was asked to stop. */
const endings: readonly (readonly [name: string, ending: (context: CaseContext) => Ending, state: JobState])[] = [
  ['completed', () => ({ kind: 'completed', result: bytes('done') }), 'completed'],
  ['a retry', () => ({ kind: 'retry', error: bytes('e') }), 'cancelled'],
  ['a stalled retry', () => ({ kind: 'retry', stalled: true }), 'cancelled'],
  ['failed', () => ({ kind: 'failed', error: bytes('e') }), 'cancelled'],
  ['a release', () => ({ kind: 'released' }), 'cancelled'],
  ['a snooze', ({ unit }) => ({ kind: 'released', delayMs: unit }), 'cancelled'],
  ['a continuation', ({ job }) => ({ kind: 'continued', next: job({ type: 'next' }) }), 'cancelled'],
]

export const cancelRunningCases: readonly Case[] = [
  ...endings.map(([name, ending, state]): Case => ({
    name: `a job that was asked to stop and ends by ${name} is ${state}`,
    proves: ['F17', 'S9'],
    run: async (context) => {
      const { storage, added, claim, claimOne, advance, unit } = context
      const job = await added()
      const lease = await claimOne()
      await storage.cancel([refOf(job)], { abort: true, reason: 'why' })
      assert.equal((await settleOne(storage, lease, ending(context))).state, state)
      const record = await recordOf(storage, job, 'result', 'attempts')
      assert.equal(record.state, state)
      assert.equal(text(record.result), state === 'completed' ? 'done' : undefined)
      assert.equal(record.attempts!.at(-1)!.state, state)
      assert.ok(!record.cancelling)
      if (state === 'cancelled') assert.equal(record.cancelReason, 'why')
      await advance(11 * unit)
      const types = ['mail', 'next'].map((type) => ({ type, leaseMs: unit }))
      assert.deepEqual(await claim({ types }), [], 'nothing of it runs again')
    },
  })),
  ...endings.map(([name, ending]): Case => ({
    name: `after a cancel by force, ${name} is refused`,
    proves: ['S6', 'S8', 'S9'],
    run: async (context) => {
      const { storage, added, claimOne } = context
      const job = await added()
      const lease = await claimOne()
      await storage.cancel([refOf(job)], { force: true, reason: 'why' })
      const before = await recordOf(storage, job, 'result', 'error', 'attempts')
      assert.equal(await settleVerdict(storage, lease, ending(context)), 'cancelled')
      assert.deepEqual(await recordOf(storage, job, 'result', 'error', 'attempts'), before)
      assert.equal((await storage.list({ of: 'jobs', limit: 10 })).items.length, 1)
    },
  })),
  {
    name: 'a plain cancel does not affect a running job, which completes',
    run: async ({ storage, added, claimOne, unit }) => {
      const job = await added()
      const lease = await claimOne()
      await storage.cancel([refOf(job)], { reason: 'why' })
      const record = await recordOf(storage, job)
      assert.deepEqual(
        [record.state, record.cancelling ?? false, record.cancelReason],
        ['processing', false, undefined],
      )
      assert.equal((await storage.extend([extension(lease, 10 * unit)]))[0]!.verdict, 'extended')
      assert.equal((await settleOne(storage, lease, { kind: 'completed' })).state, 'completed')
    },
  },
  {
    name: 'extend tells the holder of a job that was asked to stop, with the reason, and still extends the lease',
    proves: ['F17', 'S9'],
    run: async ({ storage, added, claimOne, unit }) => {
      const job = await added()
      const lease = await claimOne()
      assert.deepEqual(await storage.cancel([refOf(job)], { abort: true, reason: 'why' }), [{ verdict: 'cancelling' }])
      const record = await recordOf(storage, job)
      assert.deepEqual([record.state, record.cancelling, record.cancelReason], ['processing', true, 'why'])
      assert.deepEqual([record.worker, record.finishedAt, record.expiresAt], [lease.worker, undefined, undefined])
      const [verdict] = await storage.extend([extension(lease, 40 * unit)])
      const { leaseUntil } = await recordOf(storage, job)
      assert.deepEqual(verdict, { verdict: 'cancelling', until: leaseUntil, reason: 'why' })
      assert.ok(leaseUntil! > lease.leaseUntil)
    },
  },
  {
    name: 'a request to stop without a reason is reported without one',
    run: async ({ storage, added, claimOne, unit }) => {
      const job = await added()
      const lease = await claimOne()
      await storage.cancel([refOf(job)], { abort: true })
      const [verdict] = await storage.extend([extension(lease, 10 * unit)])
      assert.equal(verdict!.verdict, 'cancelling')
      assert.equal((verdict as { reason?: string }).reason, undefined)
      assert.equal((await recordOf(storage, job)).cancelReason, undefined)
    },
  },
  {
    name: 'a job can be asked to stop twice, and then be ended by force',
    run: async ({ storage, added, claimOne }) => {
      const job = await added()
      await claimOne()
      const cancel = async (options: object) => (await storage.cancel([refOf(job)], options))[0]!.verdict
      assert.deepEqual([await cancel({ abort: true }), await cancel({ abort: true })], ['cancelling', 'cancelling'])
      assert.equal(await cancel({ force: true }), 'cancelled')
      const record = await recordOf(storage, job)
      assert.deepEqual([record.state, record.cancelling ?? false], ['cancelled', false])
    },
  },
  {
    name: 'a job that was asked to stop keeps its id, key and group until it ends',
    run: async ({ storage, added, claim, claimOne, job }) => {
      const fields = { group: { key: 'g', ordered: true }, deduplication: { key: 'k', mode: 'simple' } } as const
      const first = await added(fields)
      const lease = await claimOne()
      const second = await added({ group: fields.group })
      await storage.cancel([refOf(first)], { abort: true })
      const verdicts = await storage.add([job({ id: first.id }), job({ deduplication: fields.deduplication })])
      assert.deepEqual(
        verdicts.map((verdict) => [verdict.verdict, 'by' in verdict && verdict.by]),
        [
          ['duplicate', 'id'],
          ['duplicate', 'key'],
        ],
      )
      assert.deepEqual(await claim(), [])
      await settleOne(storage, lease, { kind: 'retry' })
      await added(fields)
      assert.deepEqual(idsOf(await claim()), [second.id])
    },
  },
  {
    name: 'a job that was asked to stop and lost its lease is cancelled by the next claim instead of run',
    proves: ['F17', 'S9'],
    run: async ({ storage, added, claimOne, claimRequest, advance, unit }) => {
      const job = await added({ payload: bytes('p') })
      const lease = await claimOne({ label: 'w' })
      await storage.cancel([refOf(job)], { abort: true, reason: 'why' })
      await advance(11 * unit)
      const { jobs, recovered, ended } = await storage.claim(claimRequest())
      assert.deepEqual(jobs, [])
      const { worker, attempt } = lease
      assert.deepEqual(recovered, [{ ...refOf(job), worker, attempt, label: 'w', state: 'cancelled' }])
      assert.deepEqual(
        ended.map(({ id, state, reason }) => [id, state, reason]),
        [[job.id, 'cancelled', undefined]],
      )
      const record = await recordOf(storage, job)
      assert.deepEqual([record.state, record.cancelReason], ['cancelled', 'why'])
    },
  },
  {
    name: 'a job that was asked to stop and lost its lease is cancelled by recover',
    proves: ['F17', 'S9'],
    run: async ({ storage, added, claim, claimOne, advance, unit }) => {
      const job = await added()
      const { worker, attempt } = await claimOne()
      await storage.cancel([refOf(job)], { abort: true })
      await advance(11 * unit)
      const recovered = await storage.recover({ types: ['mail'], limit: 10 })
      assert.deepEqual(
        recovered.map(({ id, worker: holder, attempt: run, state }) => [id, holder, run, state]),
        [[job.id, worker, attempt, 'cancelled']],
      )
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'a job whose lease has ended and was not taken back counts as running for a cancel',
    proves: ['S10'],
    run: async ({ storage, added, claim, advance, unit }) => {
      const [a, b] = [await added(), await added()]
      await claim()
      await advance(11 * unit)
      assert.deepEqual(await storage.cancel([refOf(a)]), [{ verdict: 'processing' }])
      assert.deepEqual(await storage.cancel([refOf(a)], { abort: true }), [{ verdict: 'cancelling' }])
      assert.deepEqual(await storage.cancel([refOf(b)], { force: true }), [{ verdict: 'cancelled' }])
      assert.deepEqual(await claim(), [])
      assert.deepEqual([await stateOf(storage, a), await stateOf(storage, b)], ['cancelled', 'cancelled'])
    },
  },
  {
    name: 'force ends a running job at once: the record is cancelled, id, key and group are free, and the holder is refused',
    proves: ['F17', 'F21', 'F25'],
    run: async ({ storage, added, claim, claimOne, unit }) => {
      const fields = { group: { key: 'g', ordered: true }, deduplication: { key: 'k', mode: 'simple' } } as const
      const job = await added(fields)
      const lease = await claimOne({ label: 'w' })
      const next = await added({ group: fields.group })
      await storage.cancel([refOf(job)], { force: true, reason: 'why' })
      const record = await recordOf(storage, job, 'attempts')
      assert.deepEqual([record.state, record.cancelReason, record.failures], ['cancelled', 'why', 0])
      assert.equal(record.expiresAt, record.finishedAt! + job.retention.cancelledMs)
      const { attempt, worker, label, outcome, state } = record.attempts!.at(-1)!
      assert.deepEqual([attempt, worker, label, outcome, state], [1, lease.worker, 'w', 'cancelled', 'cancelled'])
      assert.deepEqual(await storage.extend([extension(lease, unit)]), [{ verdict: 'cancelled' }])
      assert.deepEqual(idsOf(await claim()), [next.id])
      await added({ id: job.id, deduplication: fields.deduplication })
    },
  },
  {
    name: 'the holder of a job ended by force cannot change the next job of that id',
    proves: ['S5', 'S6'],
    run: async ({ storage, added, claimOne, unit }) => {
      const job = await added()
      const old = await claimOne()
      await storage.cancel([refOf(job)], { force: true })
      await added({ id: job.id })
      assert.equal(await settleVerdict(storage, old, { kind: 'completed' }), 'taken_by_another_worker')
      const lease = await claimOne()
      assert.equal(await settleVerdict(storage, old, { kind: 'completed' }), 'taken_by_another_worker')
      assert.deepEqual(await storage.extend([extension(old, unit)]), [{ verdict: 'taken_by_another_worker' }])
      assert.equal(await settleVerdict(storage, lease, { kind: 'completed' }), 'settled')
    },
  },
  {
    name: 'a record with a retention of 0 ms is gone when force ends its job, and its holder gets not_found',
    run: async ({ storage, added, claimOne, unit }) => {
      const job = await added({ retention: { completedMs: unit, failedMs: unit, cancelledMs: 0 } })
      const lease = await claimOne()
      await storage.cancel([refOf(job)], { force: true })
      assert.equal(await findRecord(storage, job), undefined)
      assert.equal(await settleVerdict(storage, lease, { kind: 'completed' }), 'not_found')
    },
  },
  {
    name: 'of a concurrent cancel by force and settle exactly one wins',
    proves: ['S7', 'S9'],
    run: async ({ storage, added, claimOne }) => {
      for (let round = 0; round < 20; round++) {
        const job = await added()
        const lease = await claimOne()
        const cancel = () => storage.cancel([refOf(job)], { force: true })
        const settle = () => storage.settle([outcomeOf(lease, { kind: 'completed' })])
        const answers = await Promise.all(round % 2 ? [cancel(), settle()] : [settle(), cancel()])
        const verdicts = answers.map(([answer]) => answer!.verdict)
        const pair = (round % 2 ? verdicts : verdicts.toReversed()).join(' ')
        assert.ok(pair === 'cancelled cancelled' || pair === 'completed settled', pair)
        assert.equal(await stateOf(storage, job), pair === 'completed settled' ? 'completed' : 'cancelled')
      }
    },
  },
]
