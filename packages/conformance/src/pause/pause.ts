// pause: no claim yields a job of a paused type or group, and nothing else changes.

import assert from 'node:assert/strict'
import type { Case } from '../case.ts'
import { countsOf, pauseGroupCases } from './pause-groups.ts'
import { complete, outcomeOf, settleOne } from '../outcomes.ts'
import { idsOf, stateOf } from '../records.ts'
import { inState } from '../scenarios.ts'

export const pauseCases: readonly Case[] = [
  {
    name: 'a paused type is not claimed until it is resumed; then all its jobs are, in order',
    proves: ['F26', 'S22'],
    run: async ({ storage, added, claim }) => {
      const [a, b] = [await added(), await added({ priority: 1 })]
      await storage.pause({ type: 'mail', paused: true })
      const c = await added()
      assert.deepEqual(await claim(), [])
      assert.deepEqual(await claim(), [])
      await storage.pause({ type: 'mail', paused: false })
      assert.deepEqual(idsOf(await claim()), idsOf([b, a, c]))
    },
  },
  {
    name: 'a claim of several types skips only the paused one',
    proves: ['F26'],
    run: async ({ storage, added, claim, unit }) => {
      await added()
      const others = [await added({ type: 'sms' }), await added({ type: 'sms' })]
      await storage.pause({ type: 'mail', paused: true })
      const types = ['mail', 'sms'].map((type) => ({ type, leaseMs: 10 * unit }))
      assert.deepEqual(idsOf(await claim({ types, slots: 2 })), idsOf(others))
    },
  },
  {
    name: 'jobs that become due while their type is paused wait for the resume',
    proves: ['S22'],
    run: async (context) => {
      const { storage, advance, claim, unit } = context
      const jobs = [await inState(context, 'scheduled'), await inState(context, 'failing')]
      await storage.pause({ type: 'mail', paused: true })
      await advance(51 * unit)
      assert.deepEqual(await claim(), [])
      await storage.pause({ type: 'mail', paused: false })
      assert.deepEqual(idsOf(await claim()).toSorted(), idsOf(jobs).toSorted())
    },
  },
  {
    name: 'a job that runs when its type is paused can be extended, settled and continued',
    proves: ['F26'],
    run: async ({ storage, added, claim, job, unit }) => {
      for (let count = 0; count < 3; count++) await added()
      const [a, b, c] = await claim()
      await storage.pause({ type: 'mail', paused: true })
      const { type, id, worker, attempt } = a!
      const [extended] = await storage.extend([{ type, id, worker, attempt, leaseMs: 10 * unit }])
      assert.equal(extended!.verdict, 'extended')
      assert.equal((await complete(storage, a!)).state, 'completed')
      assert.equal((await settleOne(storage, b!, { kind: 'continued', next: job() })).state, 'completed')
      assert.equal((await settleOne(storage, c!, { kind: 'retry' })).state, 'failing')
      assert.deepEqual(await claim(), [], 'neither the continuation nor the retry')
    },
  },
  {
    name: 'a lost lease of a paused type does not run again until it is resumed',
    proves: ['S22'],
    run: async (context) => {
      const { storage, advance, claim, claimOne, unit } = context
      const job = await inState(context, 'processing')
      await storage.pause({ type: 'mail', paused: true })
      await advance(11 * unit)
      assert.deepEqual(await claim(), [])
      await storage.pause({ type: 'mail', paused: false })
      const { id, attempt, failures } = await claimOne()
      assert.deepEqual([id, attempt, failures], [job.id, 2, 1])
    },
  },
  {
    name: 'the holder of a job of a paused type is accepted after its lease ended',
    proves: ['S10'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      await added()
      const lease = await claimOne()
      await storage.pause({ type: 'mail', paused: true })
      await advance(11 * unit)
      assert.equal((await complete(storage, lease)).state, 'completed')
    },
  },
  {
    name: 'recover takes back a lost lease of a paused type, and its job waits',
    proves: ['S22'],
    run: async (context) => {
      const { storage, advance, claim, claimOne, unit } = context
      const job = await inState(context, 'processing')
      await storage.pause({ type: 'mail', paused: true })
      await advance(11 * unit)
      assert.deepEqual(idsOf(await storage.recover({ types: ['mail'], limit: 10 })), [job.id])
      assert.equal(await stateOf(storage, job), 'queued')
      assert.deepEqual(await claim(), [])
      await storage.pause({ type: 'mail', paused: false })
      assert.equal((await claimOne()).attempt, 2)
    },
  },
  {
    name: 'a claim of a paused type settles the outcomes it carries',
    run: async ({ storage, added, claimOne, claimRequest }) => {
      const job = await added()
      const lease = await claimOne()
      await storage.pause({ type: 'mail', paused: true })
      const outcomes = [outcomeOf(lease, { kind: 'completed' })]
      const { settled, jobs } = await storage.claim(claimRequest({ outcomes }))
      assert.deepEqual([settled[0]!.verdict, jobs, await stateOf(storage, job)], ['settled', [], 'completed'])
    },
  },
  {
    name: 'pauses are not counted: one resume ends two pauses, and a surplus resume does nothing',
    run: async ({ storage, added, claimOne, claim }) => {
      await storage.pause({ type: 'mail', paused: false })
      await storage.pause({ type: 'mail', paused: true })
      await storage.pause({ type: 'mail', paused: true })
      const job = await added()
      assert.deepEqual(await claim(), [])
      await storage.pause({ type: 'mail', paused: false })
      assert.equal((await claimOne()).id, job.id)
    },
  },
  {
    name: 'counts show since and by of a paused type until it is resumed',
    proves: ['F26'],
    run: async (context) => {
      const { storage, added, now } = context
      await added()
      await added({ type: 'sms' })
      const before = await now()
      await storage.pause({ type: 'mail', paused: true, by: 'ops' })
      await storage.pause({ type: 'sms', paused: true })
      const [mail, sms] = [await countsOf(context, 'mail'), await countsOf(context, 'sms')]
      assert.equal(mail!.paused!.by, 'ops')
      assert.ok(mail!.paused!.since >= before && mail!.paused!.since <= (await now()))
      assert.deepEqual([sms!.paused!.by, mail!.pausedGroups], [undefined, []])
      await storage.pause({ type: 'mail', paused: false })
      assert.equal((await countsOf(context, 'mail'))!.paused, undefined)
      assert.ok((await countsOf(context, 'sms'))!.paused)
    },
  },
  {
    name: 'a type without jobs can be paused: it is counted, and its first job waits',
    run: async (context) => {
      const { storage, added, claim } = context
      await storage.pause({ type: 'mail', paused: true, by: 'ops' })
      assert.equal((await countsOf(context, 'mail'))!.states.queued, 0)
      await storage.pause({ type: 'mail', paused: false })
      assert.equal(await countsOf(context, 'mail'), undefined)
      await storage.pause({ type: 'mail', paused: true })
      await added()
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'a pause holds for every handle until it is resumed',
    proves: ['S22'],
    run: async (context) => {
      const { storage, another, added, advance, claimRequest, unit } = context
      const other = await another()
      await other.connect()
      await storage.pause({ type: 'mail', paused: true })
      await added()
      await advance(11 * unit)
      await storage.sweep({ limit: 10 })
      assert.deepEqual((await other.claim(claimRequest())).jobs, [])
      await other.pause({ type: 'mail', paused: false })
      assert.equal((await storage.claim(claimRequest())).jobs.length, 1)
      await other.disconnect()
    },
  },
  {
    name: 'a pause survives closing and opening',
    needs: ['durable'],
    proves: ['F26'],
    run: async (context) => {
      const { storage, added, claim } = context
      await storage.pause({ type: 'mail', paused: true, by: 'ops' })
      await storage.pause({ type: 'sms', group: 'g', paused: true, by: 'ops' })
      await added()
      await storage.disconnect()
      await storage.connect()
      assert.deepEqual(await claim(), [])
      assert.equal((await countsOf(context, 'mail'))!.paused!.by, 'ops')
      assert.equal((await countsOf(context, 'sms'))!.pausedGroups[0]!.group, 'g')
    },
  },
  ...pauseGroupCases,
]
