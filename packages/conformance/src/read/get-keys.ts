// get by deduplication key: it returns the chain that a job with this key would be a duplicate of.

import assert from 'node:assert/strict'
import type { JobRecord } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, continueWith, fail } from '../outcomes.ts'

const simple = { key: 'k', mode: 'simple' } as const

const holder = async ({ storage }: CaseContext, type = 'mail', key = 'k'): Promise<JobRecord | undefined> =>
  (await storage.get([{ type, key }], { parts: ['payload', 'tail'] }))[0]

export const getKeyCases: readonly Case[] = [
  {
    name: 'get by key returns the job that holds the key, with its parts, and none for another type or key',
    run: async (context) => {
      const { storage, added } = context
      assert.equal(await holder(context), undefined)
      const job = await added({ deduplication: simple, payload: new Uint8Array([1, 2]) })
      const record = await holder(context)
      assert.deepEqual([record?.id, [...record!.payload!], record!.tail!.id], [job.id, [1, 2], job.id])
      assert.equal(await holder(context, 'post'), undefined)
      assert.equal(await holder(context, 'mail', 'another'), undefined)
      const both = await storage.get([
        { type: 'mail', key: 'k' },
        { type: 'mail', id: job.id },
        { type: 'mail', key: 'x' },
      ])
      assert.deepEqual(
        both.map((one) => one?.id),
        [job.id, job.id, undefined],
      )
    },
  },
  {
    name: 'get by key returns the first job of the chain while the chain is live',
    run: async (context) => {
      const { storage, added, job, claimOne } = context
      const first = await added({ deduplication: simple })
      const next = job({ type: 'next' })
      await continueWith(storage, await claimOne(), next)
      const record = await holder(context)
      assert.deepEqual([record?.id, record?.tail?.id], [first.id, next.id])
      await complete(storage, await claimOne({ types: [{ type: 'next', leaseMs: 60_000 }] }))
      assert.equal(await holder(context), undefined)
    },
  },
  {
    name: 'get by key returns none once the chain failed, was cancelled, or its window ended',
    run: async (context) => {
      const { storage, added, claimOne, advance, unit } = context
      await added({ deduplication: simple })
      await fail(storage, await claimOne())
      assert.equal(await holder(context), undefined)
      const cancelled = await added({ deduplication: simple })
      await storage.cancel([{ type: 'mail', id: cancelled.id }])
      assert.equal(await holder(context), undefined)
      const short = await added({ deduplication: { ...simple, windowMs: unit } })
      assert.equal((await holder(context))?.id, short.id)
      await advance(2 * unit)
      assert.equal(await holder(context), undefined)
    },
  },
  {
    name: 'get by a throttle key returns the completed job while its record lives',
    run: async (context) => {
      const { storage, added, claimOne } = context
      const job = await added({ deduplication: { key: 'k', mode: 'throttle' } })
      await complete(storage, await claimOne())
      const record = await holder(context)
      assert.deepEqual([record?.id, record?.state], [job.id, 'completed'])
      await storage.remove([{ type: 'mail', id: job.id }])
      assert.equal(await holder(context), undefined)
    },
  },
]
