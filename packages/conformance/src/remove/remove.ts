// remove: ended chains are removed now or get a new expiry.

import assert from 'node:assert/strict'
import type { JobState } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'
import { removeTreeCases } from './remove-trees.ts'
import { complete, fail } from '../outcomes.ts'
import { findRecord, jobStates, recordOf, refOf, stateOf } from '../records.ts'
import { chainOfTwo, claimType, inState, runOne } from '../scenarios.ts'

const ends = new Set<JobState>(['completed', 'failed', 'cancelled'])
const retentionOf = (ms: number) => ({ retention: { completedMs: ms, failedMs: ms, cancelledMs: ms } })

const tableCases = jobStates.flatMap((state): Case[] => [
  {
    name: `a ${state} job ${ends.has(state) ? 'is removed' : 'is not removed: not_terminal'}`,
    run: async (context) => {
      const { storage } = context
      const job = await inState(context, state)
      const before = await recordOf(storage, job, 'payload', 'error', 'attempts')
      const verdict = ends.has(state) ? 'removed' : 'not_terminal'
      assert.deepEqual(await storage.remove([refOf(job)]), [{ verdict }])
      assert.deepEqual(
        await findRecord(storage, job, 'payload', 'error', 'attempts'),
        ends.has(state) ? undefined : before,
      )
    },
  },
  {
    name: `a ${state} job ${ends.has(state) ? 'gets a new expiry' : 'cannot get an expiry'}`,
    proves: ['Q4.26'],
    run: async (context) => {
      const { storage, unit } = context
      const job = await inState(context, state)
      const before = await recordOf(storage, job)
      const [verdict] = await storage.remove([refOf(job)], { afterMs: 7 * unit })
      const after = await recordOf(storage, job)
      if (!ends.has(state)) assert.deepEqual([verdict, after], [{ verdict: 'not_terminal' }, before])
      else {
        assert.deepEqual(verdict, { verdict: 'kept', until: after.expiresAt })
        assert.deepEqual({ ...after, expiresAt: 0 }, { ...before, expiresAt: 0 })
        assert.ok(after.expiresAt! >= before.finishedAt! + 7 * unit && after.expiresAt! < before.expiresAt!)
      }
    },
  },
])

const chainCases: readonly Case[] = [
  {
    name: 'remove of an unknown, removed or expired job, or of another type, answers not_found',
    run: async (context) => {
      const { storage, advance, unit } = context
      const [expired, removed] = [
        await inState(context, 'completed', retentionOf(10 * unit)),
        await inState(context, 'completed'),
      ]
      await storage.remove([refOf(removed)])
      await advance(11 * unit)
      const refs = [{ type: 'mail', id: 'unknown' }, { type: 'sms', id: expired.id }, refOf(removed), refOf(expired)]
      const nowhere = refs.map(() => ({ verdict: 'not_found' }))
      assert.deepEqual(await storage.remove(refs), nowhere)
      assert.deepEqual(await storage.remove(refs, { afterMs: 50 * unit }), nowhere)
      assert.equal(await findRecord(storage, expired), undefined)
    },
  },
  {
    name: 'a removed job leaves neither result nor count, and its id is free',
    proves: ['S20'],
    run: async (context) => {
      const { storage, added } = context
      const job = await inState(context, 'completed')
      await storage.remove([refOf(job)])
      assert.deepEqual((await storage.count({})).types, [])
      assert.deepEqual((await storage.list({ of: 'chains', limit: 10 })).items, [])
      await added({ id: job.id })
      const { state, attempt } = await recordOf(storage, job)
      assert.deepEqual([state, attempt], ['queued', 0])
    },
  },
  {
    name: 'an ended chain is removed with all its jobs',
    run: async (context) => {
      const { storage, added } = context
      const { first, next } = await chainOfTwo(context)
      await runOne(context, 'next')
      assert.deepEqual(await storage.remove([refOf(first)]), [{ verdict: 'removed' }])
      assert.deepEqual(await storage.get([first, next].map(refOf)), [undefined, undefined])
      assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
      await added({ type: 'next', id: next.id })
    },
  },
  {
    name: 'a chain with a live tail answers not_terminal, although its first job completed',
    proves: ['S1'],
    run: async (context) => {
      const { storage } = context
      const { first, next } = await chainOfTwo(context)
      for (const options of [{}, { afterMs: 0 }]) {
        assert.deepEqual(await storage.remove([refOf(first)], options), [{ verdict: 'not_terminal' }])
      }
      assert.deepEqual([await stateOf(storage, first), await stateOf(storage, next)], ['completed', 'queued'])
    },
  },
  {
    name: 'remove of a continuation answers not_root with its chain',
    run: async (context) => {
      const { storage } = context
      const { first, next } = await chainOfTwo(context)
      await runOne(context, 'next')
      assert.deepEqual(await storage.remove([refOf(next)]), [{ verdict: 'not_root', root: refOf(first) }])
      assert.deepEqual([await stateOf(storage, first), await stateOf(storage, next)], ['completed', 'completed'])
    },
  },
  {
    name: 'a key that lasts as long as its record is free once the record is removed',
    proves: ['F25'],
    run: async (context) => {
      const { storage, added, job } = context
      const deduplication = { key: 'k', mode: 'throttle' } as const
      const first = await inState(context, 'completed', { deduplication })
      assert.equal((await storage.add([job({ deduplication })]))[0]!.verdict, 'duplicate')
      await storage.remove([refOf(first)])
      await added({ deduplication })
    },
  },
  {
    name: 'a key with a window stays taken after its record is removed',
    proves: ['F25'],
    run: async (context) => {
      const { storage, added, advance, job, unit } = context
      const deduplication = { key: 'k', mode: 'throttle', windowMs: 20 * unit } as const
      const first = await inState(context, 'completed', { deduplication })
      await storage.remove([refOf(first)])
      assert.equal((await storage.add([job({ deduplication })]))[0]!.verdict, 'duplicate')
      await advance(20 * unit)
      await added({ deduplication })
    },
  },
  {
    name: 'a chain that an unfinished job needs is not removed: referenced names the job',
    proves: ['chains trap 25'],
    run: async (context) => {
      const { storage, added } = context
      const [done, open] = [await added({ type: 'done' }), await added({ type: 'open' })]
      const job = await added({ blockers: [refOf(done), refOf(open)] })
      await runOne(context, 'done', 'r')
      assert.deepEqual(await storage.remove([refOf(done)]), [{ verdict: 'referenced', by: [refOf(job)] }])
      await runOne(context, 'open')
      const lease = await claimType(context, 'mail')
      assert.equal(text(lease.blockers[0]!.result), 'r')
      assert.deepEqual(await storage.remove([refOf(done)]), [{ verdict: 'referenced', by: [refOf(job)] }])
      await complete(storage, lease)
      assert.deepEqual(await storage.remove([refOf(done)]), [{ verdict: 'removed' }])
    },
  },
  {
    name: 'a failed chain that a job still waits for is not removed',
    proves: ['chains trap 23'],
    run: async (context) => {
      const { storage, added } = context
      const blocker = await added({ type: 'blocker' })
      const job = await added({ blockers: [refOf(blocker)], onBlockerFailure: 'wait' })
      await fail(storage, await claimType(context, 'blocker'))
      assert.deepEqual(await storage.remove([refOf(blocker)]), [{ verdict: 'referenced', by: [refOf(job)] }])
      assert.equal(await stateOf(storage, blocker), 'failed')
    },
  },
  {
    name: 'a chain that an unfinished job needs outlives its new expiry',
    proves: ['chains trap 25'],
    run: async (context) => {
      const { storage, added, advance, unit } = context
      const [done, open] = [await added({ type: 'done' }), await added({ type: 'open' })]
      await added({ blockers: [refOf(done), refOf(open)] })
      await runOne(context, 'done', 'r')
      await storage.remove([refOf(done)], { afterMs: unit })
      await advance(2 * unit)
      await storage.sweep({ limit: 10 })
      await runOne(context, 'open')
      assert.equal(text((await claimType(context, 'mail')).blockers[0]!.result), 'r')
    },
  },
  {
    name: 'verdicts come in order, and a refused item affects no other',
    run: async (context) => {
      const { storage, added } = context
      const [a, b] = [await inState(context, 'completed'), await inState(context, 'failed')]
      const live = await added()
      const refs = [a, live, { type: 'mail', id: 'unknown' }, b, a].map(refOf)
      assert.deepEqual(
        (await storage.remove(refs)).map(({ verdict }) => verdict),
        ['removed', 'not_terminal', 'not_found', 'removed', 'not_found'],
      )
      assert.deepEqual(await storage.get([a, b].map(refOf)), [undefined, undefined])
      assert.equal(await stateOf(storage, live), 'queued')
      assert.deepEqual(await storage.remove([]), [])
    },
  },
]

const laterCases: readonly Case[] = [
  {
    name: 'a later expiry keeps record, result and id until then',
    proves: ['trap 26', 'S12'],
    run: async (context) => {
      const { storage, added, advance, job, unit } = context
      const first = await inState(context, 'completed', retentionOf(10 * unit))
      await storage.remove([refOf(first)], { afterMs: 30 * unit })
      await advance(11 * unit)
      await storage.sweep({ limit: 10 })
      assert.equal(text((await recordOf(storage, first, 'result')).result), 'done')
      assert.equal((await storage.add([job({ id: first.id })]))[0]!.verdict, 'duplicate')
      await advance(20 * unit)
      assert.equal(await findRecord(storage, first), undefined)
      await added({ id: first.id })
    },
  },
  {
    name: 'an earlier expiry applies to that record and to no other',
    proves: ['trap 26', 'S12'],
    run: async (context) => {
      const { storage, advance, unit } = context
      const [other, first] = [await inState(context, 'completed'), await inState(context, 'completed')]
      await storage.remove([refOf(first)], { afterMs: 10 * unit })
      await advance(10 * unit)
      assert.equal(await findRecord(storage, first), undefined)
      assert.equal(await stateOf(storage, other), 'completed')
      assert.equal((await storage.sweep({ limit: 10 })).jobs, 1)
    },
  },
  {
    name: 'a record with an infinite retention gets an expiry',
    proves: ['S12'],
    run: async (context) => {
      const { storage, advance, unit } = context
      const job = await inState(context, 'completed', retentionOf(Infinity))
      assert.equal((await recordOf(storage, job)).expiresAt, undefined)
      const [verdict] = await storage.remove([refOf(job)], { afterMs: 10 * unit })
      assert.equal(verdict!.verdict, 'kept')
      await advance(10 * unit)
      assert.equal(await findRecord(storage, job), undefined)
      assert.equal((await storage.sweep({ limit: 10 })).jobs, 1)
    },
  },
  {
    name: 'an expiry after 0 ms removes the record now',
    run: async (context) => {
      const { storage, added } = context
      const job = await inState(context, 'completed')
      await storage.remove([refOf(job)], { afterMs: 0 })
      assert.equal(await findRecord(storage, job), undefined)
      await added({ id: job.id })
    },
  },
  {
    name: 'a chain expires as a whole at its new expiry',
    run: async (context) => {
      const { storage, advance, unit } = context
      const { first, next } = await chainOfTwo(context)
      await runOne(context, 'next')
      const [verdict] = await storage.remove([refOf(first)], { afterMs: 10 * unit })
      assert.equal(verdict!.verdict, 'kept')
      assert.deepEqual([await stateOf(storage, first), await stateOf(storage, next)], ['completed', 'completed'])
      await advance(10 * unit)
      assert.deepEqual(await storage.get([first, next].map(refOf)), [undefined, undefined])
    },
  },
  {
    name: 'an expiry set for one life of an id does not apply to the next',
    proves: ['S1'],
    run: async (context) => {
      const { storage, added, advance, unit } = context
      const job = await inState(context, 'failed')
      await storage.remove([refOf(job)], { afterMs: 10 * unit })
      await added({ id: job.id, payload: bytes('new') })
      await advance(11 * unit)
      await storage.sweep({ limit: 10 })
      assert.equal((await claimType(context, 'mail')).id, job.id)
    },
  },
  {
    name: 'a removal in a transaction that is rolled back has no effect',
    needs: ['transactions'],
    proves: ['S23'],
    run: async (context) => {
      const { storage } = context
      const job = await inState(context, 'completed')
      const rolledBack = storage.transaction!(async (tx) => {
        assert.deepEqual(await storage.remove([refOf(job)], { tx }), [{ verdict: 'removed' }])
        throw new Error('rolled back')
      })
      await assert.rejects(rolledBack, /rolled back/)
      assert.equal(text((await recordOf(storage, job, 'result')).result), 'done')
    },
  },
]

export const removeCases: readonly Case[] = [...tableCases, ...chainCases, ...laterCases, ...removeTreeCases]
