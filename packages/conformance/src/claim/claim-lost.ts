// Lost leases inside a claim: taken back once, counted and reported. A job without attempts left ends instead of running.

import assert from 'node:assert/strict'
import type { ClaimedJob, NewJob } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case, CaseContext } from '../case.ts'
import { complete, retry } from '../outcomes.ts'
import { fenceOf, idsOf, recordOf, refOf, statesOf } from '../records.ts'
import { lostLease } from '../scenarios.ts'

/** A job of type 'mail' whose lease of one unit has ended. */
const lost = (context: CaseContext, fields?: Partial<NewJob>): Promise<ClaimedJob> =>
  lostLease(context, { id: 'lost', payload: bytes('payload'), ...fields }, 'dead')

/** The same for a job without `maxAttempts`. */
async function lostWithout({ storage, job, claimOne, advance, unit }: CaseContext): Promise<ClaimedJob> {
  const { maxAttempts: _, ...bare } = job({ id: 'lost' })
  await storage.add([bare])
  const lease = await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
  await advance(2 * unit)
  return lease
}

const takenBackCases: readonly Case[] = [
  {
    name: 'a lost lease is taken back and reported, and its job runs again with one more attempt and failure',
    proves: ['S4', 'L2', 'trap 28', 'chains trap 9'],
    run: async (context) => {
      const lease = await lost(context)
      const { jobs, recovered, ended } = await context.storage.claim(context.claimRequest())
      assert.deepEqual(recovered.map(fenceOf), [fenceOf(lease)])
      assert.deepEqual(
        recovered.map(({ label, state }) => [label, state]),
        [['host', 'queued']],
      )
      const [claimed] = jobs
      assert.deepEqual(
        [claimed?.id, claimed?.attempt, claimed?.failures, text(claimed?.payload)],
        ['lost', 2, 1, 'payload'],
      )
      assert.deepEqual([...ended], [])
      assert.notEqual(claimed!.worker, lease.worker)
    },
  },
  {
    name: 'a lease ends exactly at its end, not before',
    proves: ['S4'],
    run: async ({ added, claim, claimOne, advance, unit }) => {
      await added()
      const lease = await claimOne()
      await advance(unit)
      assert.deepEqual(await claim(), [])
      await advance(9 * unit)
      const again = await claimOne()
      assert.ok(again.attempt === 2 && again.startedAt >= lease.leaseUntil)
    },
  },
  {
    name: 'an extended lease is not lost at its first end',
    proves: ['trap 20', 'W7', 'S4'],
    run: async ({ storage, added, claim, claimOne, advance, unit }) => {
      await added()
      const lease = await claimOne()
      await advance(unit)
      await storage.extend([{ ...fenceOf(lease), leaseMs: 100 * unit }])
      await advance(10 * unit)
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'a lost lease is taken back once: of concurrent claims one gets the job, and one failure is counted',
    proves: ['S4', 'S17', 'trap 34'],
    run: async (context) => {
      const { storage, another, claimRequest } = context
      const lease = await lost(context)
      const handles = [storage, await another()]
      const claims = await Promise.all(
        Array.from({ length: 6 }, (_, index) => handles[index % 2]!.claim(claimRequest())),
      )
      assert.equal(claims.flatMap(({ jobs }) => jobs).length, 1)
      assert.equal(claims.flatMap(({ recovered }) => recovered).length, 1)
      assert.equal((await recordOf(storage, lease)).failures, 1)
    },
  },
  {
    name: 'a claim takes back leases only of the types it names',
    proves: ['S4'],
    run: async (context) => {
      const { storage, claimRequest, unit } = context
      const lease = await lost(context)
      const types = [{ type: 'post', leaseMs: 10 * unit }]
      assert.deepEqual([...(await storage.claim(claimRequest({ types }))).recovered], [])
      assert.deepEqual(await statesOf(storage, lease), ['processing'])
    },
  },
  {
    name: 'a job settled after its lease ended, but before the claim, is not taken back',
    proves: ['S10', 'S8'],
    run: async (context) => {
      const { storage, claimRequest } = context
      await complete(storage, await lost(context), 'late')
      const { jobs, recovered } = await storage.claim(claimRequest())
      assert.deepEqual([[...jobs], [...recovered]], [[], []])
    },
  },
  {
    name: 'the lost attempt is on the record as stalled',
    proves: ['F12', 'S7'],
    run: async (context) => {
      const lease = await lost(context)
      await context.claimOne()
      const [attempt] = (await recordOf(context.storage, lease, 'attempts')).attempts!
      assert.deepEqual(
        [attempt?.attempt, attempt?.worker, attempt?.label, attempt?.outcome, attempt?.state],
        [1, 'dead', 'host', 'stalled', 'queued'],
      )
      assert.ok(attempt!.startedAt === lease.startedAt && attempt!.endedAt >= lease.leaseUntil)
    },
  },
  {
    name: 'a recovered job keeps createdAt, payload, key and token',
    proves: ['trap 15', 'S2'],
    run: async (context) => {
      const lease = await lost(context, { deduplication: { key: 'k', mode: 'simple' } })
      const again = await context.claimOne()
      assert.deepEqual([again.createdAt, again.token, text(again.payload)], [lease.createdAt, lease.token, 'payload'])
      assert.equal((await recordOf(context.storage, lease)).deduplicationKey, 'k')
    },
  },
  {
    name: 'a lost lease of a paused type yields no job; after the resume one failure is counted',
    proves: ['S22', 'S17'],
    run: async (context) => {
      const { storage, claim, claimOne } = context
      await lost(context)
      await storage.pause({ type: 'mail', paused: true })
      assert.deepEqual(await claim(), [])
      assert.deepEqual(await claim(), [])
      await storage.pause({ type: 'mail', paused: false })
      const claimed = await claimOne()
      assert.deepEqual([claimed.attempt, claimed.failures], [2, 1])
    },
  },
]

const endedCases: readonly Case[] = [
  {
    name: 'a job whose last attempt lost its lease fails as stalled and is reported instead of run',
    proves: ['F14', 'S17', 'trap 7', 'chains trap 29', 'K8'],
    run: async (context) => {
      const { storage, claimRequest } = context
      const lease = await lost(context, { maxAttempts: 1 })
      const { jobs, recovered, ended } = await storage.claim(claimRequest())
      assert.deepEqual([...jobs], [])
      assert.deepEqual(
        recovered.map((each) => [each.worker, each.attempt, each.state]),
        [['dead', 1, 'failed']],
      )
      assert.deepEqual(
        ended.map((each) => [each.type, each.id, each.state, each.reason, each.attempt, each.failures]),
        [['mail', 'lost', 'failed', 'stalled', 1, 1]],
      )
      const record = await recordOf(storage, lease, 'error')
      assert.deepEqual(
        [record.state, record.reason, record.error, record.failures],
        ['failed', 'stalled', undefined, 1],
      )
      assert.equal(record.expiresAt, record.finishedAt! + record.retention.failedMs)
      assert.equal(record.leaseUntil, undefined)
    },
  },
  {
    name: 'failed and lost attempts count together; if the last one was lost, there is no error',
    proves: ['S17'],
    run: async (context) => {
      const { storage, added, claimOne, claim, advance, unit } = context
      const job = await added({ maxAttempts: 2 })
      await retry(storage, await claimOne())
      await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
      await advance(2 * unit)
      assert.deepEqual(await claim(), [])
      const { state, failures, attempt, reason, error } = await recordOf(storage, job, 'error')
      assert.deepEqual([state, failures, attempt, reason, error], ['failed', 2, 2, 'stalled', undefined])
    },
  },
  {
    name: 'the claim’s maxAttempts applies to a job without its own',
    proves: ['F14', 'S17'],
    run: async (context) => {
      const { storage, claimRequest, unit } = context
      const lease = await lostWithout(context)
      const types = [{ type: 'mail', leaseMs: 10 * unit, maxAttempts: 1 }]
      const { jobs, recovered, ended } = await storage.claim(claimRequest({ types }))
      assert.deepEqual([[...jobs], recovered.map(({ state }) => state)], [[], ['failed']])
      assert.deepEqual(
        ended.map(({ id, reason }) => [id, reason]),
        [['lost', 'stalled']],
      )
      assert.deepEqual(await statesOf(storage, lease), ['failed'])
    },
  },
  {
    name: 'a job without maxAttempts, claimed without maxAttempts, never runs out of attempts',
    proves: ['F14'],
    run: async (context) => {
      await lostWithout(context)
      const { attempt, failures } = await context.claimOne()
      assert.deepEqual([attempt, failures], [2, 1])
    },
  },
  {
    name: 'the maxAttempts of a job overrides that of the claim',
    proves: ['S17'],
    run: async (context) => {
      await lost(context, { maxAttempts: 2 })
      const types = [{ type: 'mail', leaseMs: 10 * context.unit, maxAttempts: 1 }]
      assert.equal((await context.claimOne({ types })).attempt, 2)
    },
  },
  {
    name: 'a waiting job that has reached the claim’s maxAttempts is ended by the claim instead of run',
    proves: ['S17', 'F14'],
    run: async ({ storage, job, claimOne, claimRequest, unit }) => {
      const { maxAttempts: _, ...bare } = job()
      await storage.add([bare, job({ id: 'other' })])
      await retry(storage, await claimOne({ slots: 1 }))
      const types = [{ type: 'mail', leaseMs: 10 * unit, maxAttempts: 1 }]
      const { jobs, recovered, ended } = await storage.claim(claimRequest({ types }))
      assert.deepEqual([idsOf(jobs), [...recovered]], [['other'], []])
      assert.deepEqual(
        ended.map((each) => [each.id, each.state, each.reason, each.failures]),
        [[bare.id, 'failed', 'stalled', 1]],
      )
      const record = await recordOf(storage, bare, 'error')
      assert.deepEqual([record.state, record.error], ['failed', undefined])
    },
  },
  {
    name: 'a job that was asked to stop and lost its lease is cancelled instead of run',
    proves: ['F17', 'S9', 'Q4.21'],
    run: async (context) => {
      const { storage, added, claimOne, claimRequest, advance, unit } = context
      const job = await added({ maxAttempts: 9 })
      await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
      await storage.cancel([refOf(job)], { abort: true, reason: 'enough' })
      await advance(2 * unit)
      const { jobs, recovered, ended } = await storage.claim(claimRequest())
      assert.deepEqual([[...jobs], recovered.map(({ state }) => state)], [[], ['cancelled']])
      assert.deepEqual(
        ended.map(({ id, state }) => [id, state]),
        [[job.id, 'cancelled']],
      )
      const { state, cancelReason, reason } = await recordOf(storage, job)
      assert.deepEqual([state, cancelReason, reason], ['cancelled', 'enough', undefined])
    },
  },
  {
    name: 'dependents of a job that a claim ends fail with it and are reported',
    proves: ['S13', 'chains trap 23'],
    run: async (context) => {
      const { storage, added, claimRequest } = context
      const lease = await lost(context, { maxAttempts: 1 })
      const dependent = await added({ type: 'other', blockers: [refOf(lease)] })
      const { ended } = await storage.claim(claimRequest())
      const reported = ended.map((each) => [each.id, each.reason, each.attempt]).toSorted()
      assert.deepEqual(
        reported,
        [
          [dependent.id, 'blocker_failed', 0],
          ['lost', 'stalled', 1],
        ].toSorted(),
      )
      assert.deepEqual(await statesOf(storage, dependent), ['failed'])
    },
  },
  {
    name: 'a job that a claim ends with a retention of 0 ms is gone at once',
    proves: ['F29', 'S20'],
    run: async (context) => {
      const lease = await lost(context, { maxAttempts: 1, retention: { completedMs: 0, failedMs: 0, cancelledMs: 0 } })
      await context.claim()
      assert.deepEqual(await statesOf(context.storage, lease), [undefined])
    },
  },
]

export const claimLostCases: readonly Case[] = [...takenBackCases, ...endedCases]
