// cancel of chains: the tail ends, and with it the chain.

import assert from 'node:assert/strict'
import type { Case } from '../case.ts'
import { complete } from '../outcomes.ts'
import { recordOf, refOf, stateOf } from '../records.ts'
import { chainOfTwo, claimType } from '../scenarios.ts'

export const cancelChainCases: readonly Case[] = [
  {
    name: 'cancel with chains ends the tail, and with it the chain',
    run: async (context) => {
      const { storage, added, claim } = context
      const deduplication = { key: 'k', mode: 'simple' } as const
      const { first, next } = await chainOfTwo(context, { first: { deduplication } })
      assert.deepEqual(await storage.cancel([refOf(first)]), [{ verdict: 'completed' }])
      assert.equal(await stateOf(storage, next), 'queued')
      assert.deepEqual(await storage.cancel([refOf(first)], { chains: true, reason: 'r' }), [{ verdict: 'cancelled' }])
      const record = await recordOf(storage, first, 'tail')
      assert.deepEqual([record.state, record.tail!.state, record.tail!.cancelReason], ['completed', 'cancelled', 'r'])
      assert.deepEqual(await claim({ types: [{ type: 'next', leaseMs: 1000 }] }), [])
      await added({ deduplication })
      await added({ id: first.id })
    },
  },
  {
    name: 'cancel of a tail by its own id cancels the chain',
    run: async (context) => {
      const { storage } = context
      const { first, next } = await chainOfTwo(context)
      assert.deepEqual(await storage.cancel([refOf(next)]), [{ verdict: 'cancelled' }])
      assert.equal((await recordOf(storage, first, 'tail')).tail!.state, 'cancelled')
    },
  },
  {
    name: 'cancel with chains answers for the tail: processing, then cancelled by force, then its end state',
    run: async (context) => {
      const { storage } = context
      const { first, next } = await chainOfTwo(context)
      const cancel = (options: object) => storage.cancel([refOf(first)], { chains: true, ...options })
      const lease = await claimType(context, 'next')
      assert.deepEqual(await cancel({}), [{ verdict: 'processing' }])
      assert.deepEqual(await cancel({ abort: true }), [{ verdict: 'cancelling' }])
      assert.equal((await recordOf(storage, next)).cancelling, true)
      await complete(storage, lease)
      assert.deepEqual(await cancel({ force: true }), [{ verdict: 'completed' }])
      const other = await chainOfTwo(context)
      await claimType(context, 'next')
      const verdicts = await storage.cancel([refOf(other.first), { type: 'mail', id: 'unknown' }], {
        chains: true,
        force: true,
      })
      assert.deepEqual(verdicts, [{ verdict: 'cancelled' }, { verdict: 'not_found' }])
    },
  },
]
