// revive with options: only waiting or only ended jobs, a delay, and a new payload.

import assert from 'node:assert/strict'
import { bytes, type Case, text } from '../case.ts'
import { recordOf, refOf } from '../records.ts'
import { inState } from '../scenarios.ts'

export const reviveOptionCases: readonly Case[] = [
  {
    name: 'only waiting: ended and running jobs are left alone',
    proves: ['F1'],
    run: async (context) => {
      const { storage, unit } = context
      for (const state of ['failed', 'cancelled', 'completed', 'processing'] as const) {
        const job = await inState(context, state, { type: state })
        assert.deepEqual(await storage.revive([refOf(job)], { only: 'waiting' }), [{ verdict: 'not_revivable' }])
        assert.equal((await recordOf(storage, job)).state, state)
      }
      for (const state of ['queued', 'scheduled', 'failing'] as const) {
        const job = await inState(context, state, { type: state })
        assert.deepEqual(await storage.revive([refOf(job)], { only: 'waiting', delayMs: 5 * unit }), [
          { verdict: 'moved' },
        ])
      }
    },
  },
  {
    name: 'only ended: waiting jobs keep their runAt',
    proves: ['F28'],
    run: async (context) => {
      const { storage, unit } = context
      for (const state of ['queued', 'scheduled', 'failing'] as const) {
        const job = await inState(context, state, { type: state })
        const { runAt } = await recordOf(storage, job)
        const options = { only: 'ended', delayMs: 60 * unit } as const
        assert.deepEqual(await storage.revive([refOf(job)], options), [{ verdict: 'not_revivable' }])
        assert.equal((await recordOf(storage, job)).runAt, runAt)
      }
      const failed = await inState(context, 'failed')
      assert.deepEqual(await storage.revive([refOf(failed)], { only: 'ended' }), [{ verdict: 'revived' }])
    },
  },
  {
    name: 'a delay counts from the storage’s now',
    proves: ['F1'],
    run: async ({ storage, added, claim, claimOne, now, advance, unit }) => {
      const job = await added({ delayMs: 60 * unit })
      const before = await now()
      await storage.revive([refOf(job)], { delayMs: 3 * unit })
      const { runAt, state } = await recordOf(storage, job)
      assert.ok(runAt >= before + 3 * unit && runAt <= (await now()) + 3 * unit)
      assert.equal(state, 'scheduled')
      assert.deepEqual(await claim(), [])
      await advance(4 * unit)
      assert.equal((await claimOne()).id, job.id)
    },
  },
  {
    name: 'a new payload replaces the old one, in the same call',
    proves: ['F28'],
    run: async (context) => {
      const failed = await inState(context, 'failed', { payload: bytes('old') })
      const [verdict] = await context.storage.revive([{ ...refOf(failed), payload: bytes('new') }])
      assert.equal(verdict!.verdict, 'revived')
      assert.equal(text((await context.claimOne()).payload), 'new')
    },
  },
  {
    name: 'a payload of a job that is not revived is not written',
    proves: ['F28'],
    run: async (context) => {
      const done = await inState(context, 'completed', { payload: bytes('old') })
      await context.storage.revive([{ ...refOf(done), payload: bytes('new') }])
      assert.equal(text((await recordOf(context.storage, done, 'payload')).payload), 'old')
    },
  },
]
