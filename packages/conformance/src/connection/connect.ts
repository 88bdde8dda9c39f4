// Connection counting, `clear`, and the name, features and settings of a driver.

import assert from 'node:assert/strict'
import { bytes } from '../case.ts'
import type { Case, CaseContext } from '../case.ts'
import { outcomeOf } from '../outcomes.ts'
import { idsOf, jobStates, recordOf, refOf } from '../records.ts'
import { claimType, inState } from '../scenarios.ts'

export const connectCases: readonly Case[] = [
  {
    name: 'a driver has a name, six boolean features and a time limit for calls',
    run: async ({ storage }) => {
      assert.ok(storage.driver.length > 0)
      const { transactions, durable, sharedByProcesses, distributed, searchIndexed, fleetEvents } = storage.features
      for (const feature of [transactions, durable, sharedByProcesses, distributed, searchIndexed, fleetEvents]) {
        assert.equal(typeof feature, 'boolean')
      }
      assert.ok(storage.settings.callTimeoutMs > 0)
      const { pollMs } = storage.settings
      assert.ok(pollMs === undefined || pollMs > 0)
    },
  },
  {
    name: 'a driver has `transaction` exactly if its features have transactions',
    run: async ({ storage }) => assert.equal(typeof storage.transaction === 'function', storage.features.transactions),
  },
  {
    name: 'a distributed driver is also shared by processes',
    run: async ({ storage }) => assert.ok(storage.features.sharedByProcesses || !storage.features.distributed),
  },
  {
    name: 'a storage stays open until the last disconnect',
    proves: ['trap 13'],
    run: async (context) => {
      await context.storage.connect()
      await context.storage.connect()
      await works(context)
      await context.storage.disconnect()
      await works(context)
      await context.storage.disconnect()
      await works(context)
    },
  },
  {
    name: 'a disconnect leaves the listeners of other users in place',
    proves: ['trap 13'],
    run: async ({ storage, added, until }) => {
      await storage.connect()
      let heard = false
      const unlisten = await storage.listen([{ kind: 'wake', type: 'mail' }], () => void (heard = true))
      await storage.disconnect()
      await added()
      await until(() => heard)
      await unlisten()
    },
  },
  {
    name: 'a surplus disconnect does nothing, then or later',
    run: async (context) => {
      const { storage } = context
      for (let time = 0; time < 3; time++) await storage.disconnect()
      await storage.connect()
      await works(context)
      await storage.connect()
      await storage.disconnect()
      await works(context)
    },
  },
  {
    name: 'ten concurrent connects count as ten',
    proves: ['trap 37'],
    run: async (context) => {
      const ten = Array.from({ length: 10 })
      await Promise.all(ten.map(() => context.storage.connect()))
      await works(context)
      await Promise.all(ten.map(() => context.storage.disconnect()))
      await works(context)
    },
  },
  {
    name: 'a connect during the last disconnect gets an open storage',
    proves: ['trap 37'],
    run: async (context) => {
      const closing = context.storage.disconnect()
      await context.storage.connect()
      await closing
      await works(context)
    },
  },
  {
    name: 'a closed storage can be opened again',
    run: async (context) => {
      for (let time = 0; time < 3; time++) {
        await context.storage.disconnect()
        await context.storage.connect()
        await works(context)
      }
    },
  },
  {
    name: 'acknowledged jobs are there after closing and opening',
    needs: ['durable'],
    proves: ['S1'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added({ payload: bytes('kept') })
      await storage.kv.set(['kept'], bytes('too'))
      await storage.disconnect()
      await storage.connect()
      assert.deepEqual(new Uint8Array((await storage.kv.get(['kept']))!), bytes('too'))
      const claimed = await claimOne()
      assert.equal(claimed.id, job.id)
      assert.deepEqual(new Uint8Array(claimed.payload!), bytes('kept'))
    },
  },
  ...jobStates.map((state): Case => ({
    name: `clear removes a ${state} job`,
    run: async (context) => {
      const { storage, unit } = context
      const job = await inState(context, state)
      await storage.clear()
      assert.deepEqual(await storage.get([refOf(job)]), [undefined])
      assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
      assert.deepEqual((await storage.count({})).types, [])
      assert.equal(await storage.nextDueAt([{ type: job.type, leaseMs: unit }]), undefined)
    },
  })),
  {
    name: 'after clear no lease, retry or later job comes back',
    run: async (context) => {
      const { storage, advance, claim, unit } = context
      for (const state of ['processing', 'failing', 'scheduled', 'queued'] as const) await inState(context, state)
      await storage.clear()
      await advance(51 * unit)
      assert.deepEqual(await storage.recover({ types: ['mail'], limit: 10 }), [])
      assert.deepEqual(await claim(), [])
      assert.deepEqual(await storage.sweep({ limit: 10 }), { jobs: 0, ended: [], marks: 0, entries: 0, more: false })
    },
  },
  {
    name: 'clear removes kv entries, with and without a TTL',
    run: async ({ storage, unit }) => {
      await storage.kv.set(['a'], bytes('1'))
      await storage.kv.set(['b'], bytes('2'), { ttlMs: 100 * unit })
      await storage.clear()
      assert.equal(await storage.kv.get(['a']), undefined)
      assert.deepEqual((await storage.kv.list([], { limit: 10 })).items, [])
      assert.equal(await storage.kv.setIfAbsent(['b'], bytes('3')), true)
    },
  },
  {
    name: 'clear removes pauses of types and of groups',
    run: async ({ storage, added, claim }) => {
      await storage.pause({ type: 'mail', paused: true })
      await storage.pause({ type: 'sms', group: 'g', paused: true })
      await storage.clear()
      const jobs = [await added(), await added({ type: 'sms', group: { key: 'g', ordered: true } })]
      const types = ['mail', 'sms'].map((type) => ({ type, leaseMs: 1000 }))
      assert.deepEqual(idsOf(await claim({ types })), idsOf(jobs))
    },
  },
  {
    name: 'clear removes keys, also those with a window and shared ones',
    run: async ({ storage, job, unit }) => {
      const jobs = [
        job({ deduplication: { key: 'a', mode: 'simple' } }),
        job({ deduplication: { key: 'b', mode: 'throttle', windowMs: 100 * unit } }),
        job({ deduplication: { key: 'c', mode: 'throttle', windowMs: 100 * unit, shared: true } }),
      ]
      await storage.add(jobs)
      await storage.clear()
      const again = await storage.add(jobs.map((given, index) => ({ ...given, id: `new-${index}`, token: 'new' })))
      assert.deepEqual(
        again.map(({ verdict }) => verdict),
        ['added', 'added', 'added'],
      )
    },
  },
  {
    name: 'clear frees ordered groups and blockers',
    run: async (context) => {
      const { storage, added } = context
      const group = { key: 'g', ordered: true } as const
      await inState(context, 'processing', { group })
      await inState(context, 'blocked', { type: 'dependent' })
      await storage.clear()
      const next = await added({ group })
      assert.equal((await claimType(context, 'mail')).id, next.id)
      assert.equal((await recordOf(storage, await inState(context, 'blocked'))).openBlockers, 1)
    },
  },
  {
    name: 'after clear the holder of a job gets not_found and cannot change the next job of that id',
    proves: ['S5', 'S6'],
    run: async ({ storage, added, claimOne, unit }) => {
      const job = await added()
      const lease = await claimOne()
      await storage.clear()
      assert.deepEqual(await storage.extend([{ ...refOf(lease), worker: lease.worker, attempt: 1, leaseMs: unit }]), [
        { verdict: 'not_found' },
      ])
      await added({ id: job.id })
      const [late] = await storage.settle([outcomeOf(lease, { kind: 'completed' })])
      assert.notEqual(late!.verdict, 'settled')
      const { state, attempt } = await recordOf(storage, job)
      assert.deepEqual({ state, attempt }, { state: 'queued', attempt: 0 })
    },
  },
  {
    name: 'clear leaves listeners in place',
    run: async ({ storage, added, until }) => {
      let heard = 0
      const unlisten = await storage.listen([{ kind: 'wake', type: 'mail' }], () => void heard++)
      await storage.clear()
      const before = heard
      await added()
      await until(() => heard > before)
      await unlisten()
    },
  },
  {
    name: 'clear opens a closed storage for the call and counts as no connection',
    run: async (context) => {
      const { storage } = context
      await inState(context, 'queued')
      await storage.disconnect()
      await storage.clear()
      await storage.connect()
      assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
      await works(context)
      await storage.connect()
      await storage.disconnect()
      await works(context)
    },
  },
  {
    name: 'clear of an empty storage, twice, does nothing',
    run: async (context) => {
      await context.storage.clear()
      await context.storage.clear()
      await works(context)
    },
  },
]

/** Adds, claims and completes one job. */
async function works({ storage, added, claimOne }: CaseContext): Promise<void> {
  const { id } = await added()
  const lease = await claimOne()
  assert.equal(lease.id, id)
  assert.equal((await storage.settle([outcomeOf(lease, { kind: 'completed' })]))[0]!.verdict, 'settled')
}
