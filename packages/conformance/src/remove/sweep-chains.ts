// Retention inside a live chain: finished jobs expire by themselves, so that a chain that never ends stays bounded.

import assert from 'node:assert/strict'
import type { ClaimedJob, NewJob } from 'holdfast/storage'
import { bytes, type Case, type CaseContext, text } from '../case.ts'
import { settleOne } from '../outcomes.ts'
import { findRecord, idsOf, recordOf } from '../records.ts'

/** Adds a job and continues it until the chain has as many jobs; the last one waits. All keep completed records for two units. */
async function chainOf(context: CaseContext, length: number, fields: Partial<NewJob> = {}): Promise<NewJob[]> {
  const { unit } = context
  const retention = { completedMs: 2 * unit, failedMs: 100 * unit, cancelledMs: 100 * unit }
  const jobs = [await context.added({ id: 'part-0', retention, ...fields })]
  for (let index = 1; index < length; index++) {
    const next = context.job({ id: `part-${index}`, retention, ...fields })
    await settleOne(context.storage, await context.claimOne(), { kind: 'continued', next })
    jobs.push(next)
  }
  return jobs
}

const chain = { type: 'mail', id: 'part-0' }

const partsOf = async ({ storage }: CaseContext): Promise<string[]> =>
  idsOf((await storage.list({ of: 'jobs', chain, order: 'asc', limit: 100 })).items).toSorted()

export const sweepChainCases: readonly Case[] = [
  {
    name: 'a finished job inside a live chain expires by its own retention; the first and the last stay',
    proves: ['F29'],
    run: async (context) => {
      const { storage, advance, unit } = context
      const [first, second, third, last] = (await chainOf(context, 4)) as [NewJob, NewJob, NewJob, NewJob]
      const { finishedAt, expiresAt } = await recordOf(storage, second)
      assert.equal(expiresAt, finishedAt! + 2 * unit)
      assert.equal((await recordOf(storage, first)).expiresAt, undefined)
      assert.deepEqual(await partsOf(context), idsOf([first, second, third, last]))
      await advance(3 * unit)
      assert.deepEqual([await findRecord(storage, second), await findRecord(storage, third)], [undefined, undefined])
      assert.deepEqual(await partsOf(context), idsOf([first, last]))
      await storage.sweep({ limit: 100 })
      const { states } = (await storage.count({ types: ['mail'] })).types[0]!
      assert.deepEqual([states.completed, states.queued], [1, 1])
      assert.deepEqual(await partsOf(context), idsOf([first, last]))
    },
  },
  {
    name: 'a chain whose inner jobs were swept goes on, ends, and expires as a whole',
    proves: ['F29'],
    run: async (context) => {
      const { storage, advance, claimOne, unit } = context
      const [first] = await chainOf(context, 4)
      await advance(3 * unit)
      await storage.sweep({ limit: 100 })
      const lease: ClaimedJob = await claimOne()
      assert.deepEqual([lease.chain, lease.chainIndex], [chain, 3])
      await settleOne(storage, lease, { kind: 'completed', result: bytes('end') })
      const record = await recordOf(storage, first!, 'tail', 'result')
      assert.deepEqual([record.tail!.state, text(record.tail!.result)], ['completed', 'end'])
      await advance(3 * unit)
      assert.equal(await findRecord(storage, first!), undefined)
      await storage.sweep({ limit: 100 })
      const types = (await storage.count({})).types.filter(({ type }) => type === 'mail')
      assert.equal(
        types.reduce((sum, { states }) => sum + states.completed, 0),
        0,
      )
    },
  },
  {
    name: 'a chain that goes on for many rounds keeps few records',
    proves: ['F29'],
    run: async (context) => {
      const { storage, claimOne, advance, unit, job } = context
      const retention = { completedMs: unit, failedMs: unit, cancelledMs: unit }
      await context.added({ id: 'part-0', retention })
      for (let round = 1; round <= 40; round++) {
        const next = job({ id: `part-${round}`, retention })
        await settleOne(storage, await claimOne(), { kind: 'continued', next })
        if (round % 10 !== 0) continue
        await advance(2 * unit)
        await storage.sweep({ limit: 100 })
        const { states } = (await storage.count({ types: ['mail'] })).types[0]!
        assert.deepEqual([states.completed, states.queued], [1, 1], `round ${round}`)
      }
    },
  },
  {
    name: 'the id of an expired inner job is free, and its new job is no part of the chain',
    proves: ['F29'],
    run: async (context) => {
      const { storage, advance, unit, job } = context
      const [first, second, , last] = (await chainOf(context, 4)) as [NewJob, NewJob, NewJob, NewJob]
      await advance(3 * unit)
      const [verdict] = await storage.add([job({ id: second.id })])
      assert.equal(verdict!.verdict, 'added')
      assert.deepEqual((await recordOf(storage, second)).chain, { type: 'mail', id: second.id })
      await storage.sweep({ limit: 100 })
      assert.equal((await recordOf(storage, second)).state, 'queued')
      assert.deepEqual(await partsOf(context), idsOf([first, last]))
    },
  },
  {
    name: 'an inner job that is kept for ever stays as long as its chain',
    proves: ['F29'],
    run: async (context) => {
      const { storage, advance, unit } = context
      const retention = { completedMs: Infinity, failedMs: Infinity, cancelledMs: Infinity }
      const jobs = await chainOf(context, 3, { retention })
      await advance(50 * unit)
      await storage.sweep({ limit: 100 })
      assert.deepEqual(await partsOf(context), idsOf(jobs))
    },
  },
  {
    name: 'a chain is removed with all its jobs, also when some had expired',
    proves: ['F29'],
    run: async (context) => {
      const { storage, advance, unit } = context
      await chainOf(context, 4)
      await advance(3 * unit)
      assert.deepEqual(await storage.remove([chain], { trees: true }), [{ verdict: 'removed' }])
      assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
      await storage.sweep({ limit: 100 })
      const types = (await storage.count({})).types.filter(({ type }) => type === 'mail')
      assert.deepEqual(
        types.flatMap(({ states }) => Object.values(states).filter((count) => count !== 0)),
        [],
      )
    },
  },
]
