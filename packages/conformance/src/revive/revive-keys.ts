// The deduplication key of a revived job: taken again unless another job holds it.

import assert from 'node:assert/strict'
import type { Case } from '../case.ts'
import { recordOf, refOf } from '../records.ts'
import { inState, runOne } from '../scenarios.ts'

export const reviveKeyCases: readonly Case[] = [
  {
    name: 'a revived job takes its key again',
    proves: ['F25', 'S11'],
    run: async (context) => {
      const { storage, job } = context
      for (const mode of ['simple', 'throttle'] as const) {
        const deduplication = { key: mode, mode }
        const first = await inState(context, 'cancelled', { deduplication })
        assert.deepEqual(await storage.revive([refOf(first)]), [{ verdict: 'revived' }])
        const verdict = (await storage.add([job({ deduplication })]))[0]!
        assert.equal(verdict.verdict === 'duplicate' && verdict.job.id, first.id)
      }
    },
  },
  {
    name: 'revive of a job whose key another job holds answers conflict and changes nothing',
    proves: ['F25', 'S11'],
    run: async (context) => {
      const { storage, added } = context
      const deduplication = { key: 'k', mode: 'simple' } as const
      const first = await inState(context, 'failed', { deduplication })
      const before = await recordOf(storage, first, 'error')
      await added({ deduplication })
      assert.deepEqual(await storage.revive([refOf(first)]), [{ verdict: 'conflict' }])
      assert.deepEqual(await recordOf(storage, first, 'error'), before)
      await runOne(context)
      assert.deepEqual(await storage.revive([refOf(first)]), [{ verdict: 'revived' }])
    },
  },
  {
    name: 'a key held by the window of a completed job is a conflict',
    proves: ['F25'],
    run: async (context) => {
      const { storage, added, unit } = context
      const deduplication = { key: 'k', mode: 'throttle', windowMs: 100 * unit } as const
      const first = await inState(context, 'failed', { deduplication })
      await added({ deduplication })
      await runOne(context)
      assert.deepEqual(await storage.revive([refOf(first)]), [{ verdict: 'conflict' }])
    },
  },
  {
    name: 'a key whose window has ended is no conflict, and a revived job opens no new window',
    proves: ['F25'],
    run: async (context) => {
      const { storage, added, advance, unit } = context
      for (const mode of ['simple', 'throttle'] as const) {
        const deduplication = { key: mode, mode, windowMs: 10 * unit }
        const first = await inState(context, 'cancelled', { deduplication, type: mode })
        await added({ deduplication, type: mode })
        assert.deepEqual(await storage.revive([refOf(first)]), [{ verdict: 'conflict' }])
        await advance(10 * unit)
        assert.deepEqual(await storage.revive([refOf(first)]), [{ verdict: 'revived' }])
        await added({ deduplication, type: mode })
      }
    },
  },
  {
    name: 'a key held by the record of a completed job is a conflict until the record expires',
    proves: ['F25'],
    run: async (context) => {
      const { storage, added, advance, unit } = context
      const deduplication = { key: 'k', mode: 'throttle' } as const
      const first = await inState(context, 'failed', { deduplication })
      await added({ deduplication, retention: { completedMs: 10 * unit, failedMs: 0, cancelledMs: 0 } })
      await runOne(context)
      assert.deepEqual(await storage.revive([refOf(first)]), [{ verdict: 'conflict' }])
      await advance(10 * unit)
      assert.deepEqual(await storage.revive([refOf(first)]), [{ verdict: 'revived' }])
    },
  },
]
