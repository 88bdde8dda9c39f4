// Deadlines of the first start: a job that was not started in time is not run.

import assert from 'node:assert/strict'
import { bytes, type Case, text } from '../case.ts'
import { findRecord } from '../records.ts'

export const claimDeadlineCases: readonly Case[] = [
  {
    name: 'a job that was not started in time ends as cancelled in the claim, and is not run',
    proves: ['F5'],
    run: async ({ storage, added, claimRequest, advance, unit }) => {
      const late = await added({ expiresInMs: 2 * unit, payload: bytes('p') })
      const other = await added()
      await advance(3 * unit)
      const { jobs, ended } = await storage.claim(claimRequest())
      assert.deepEqual(
        jobs.map(({ id }) => id),
        [other.id],
      )
      assert.equal(ended.length, 1)
      const [{ id, state, reason, attempt, payload }] = ended as [(typeof ended)[0]]
      assert.deepEqual([id, state, reason, attempt, text(payload)], [late.id, 'cancelled', 'expired', 0, 'p'])
      const record = await findRecord(storage, late)
      assert.deepEqual([record!.state, record!.reason, record!.deadlineAt], ['cancelled', 'expired', undefined])
      assert.ok(record!.finishedAt! >= record!.createdAt + 2 * unit)
    },
  },
  {
    name: 'a job that ends in the claim does not cost its type the turn',
    proves: ['F5'],
    run: async ({ storage, added, claimRequest, advance, unit }) => {
      for (const id of ['one', 'two']) await added({ type: 'other', id })
      await added({ expiresInMs: 2 * unit })
      await added({ id: 'behind it' })
      await advance(3 * unit)
      const types = ['other', 'mail'].map((type) => ({ type, leaseMs: 10 * unit }))
      const { jobs } = await storage.claim(claimRequest({ slots: 2, types }))
      assert.deepEqual(
        jobs.map(({ id }) => id),
        ['one', 'behind it'],
      )
    },
  },
  {
    name: 'a group whose head ends in the claim keeps its turn: its next member is claimed',
    proves: ['F5', 'F21', 'F24'],
    run: async ({ storage, added, claimRequest, advance, unit }) => {
      const group = { key: 'g', ordered: true } as const
      await added({ expiresInMs: 2 * unit, group })
      await added({ id: 'member', group })
      await added({ id: 'first of another', group: { key: 'h' } })
      await added({ id: 'second of another', group: { key: 'h' } })
      await advance(3 * unit)
      const { jobs } = await storage.claim(claimRequest({ slots: 2 }))
      assert.deepEqual(
        jobs.map(({ id }) => id),
        ['member', 'first of another'],
      )
    },
  },
  {
    name: 'a job that is claimed in time has no deadline any more, also for its later attempts',
    proves: ['F5'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      const job = await added({ expiresInMs: 5 * unit })
      const waiting = await findRecord(storage, job)
      assert.equal(waiting!.deadlineAt, waiting!.createdAt + 5 * unit)
      const { type, id, worker, attempt } = await claimOne()
      assert.equal((await findRecord(storage, job))!.deadlineAt, undefined)
      await storage.settle([{ type, id, worker, attempt, kind: 'retry', delayMs: 8 * unit }])
      await advance(9 * unit)
      await storage.sweep({ limit: 100 })
      assert.equal((await claimOne()).id, id)
    },
  },
  {
    name: 'a sweep ends jobs whose deadline is over: waiting, delayed, blocked, behind a group or paused',
    proves: ['F5'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      const group = { key: 'g', ordered: true } as const
      await added({ type: 'slow' })
      await added({ group })
      await claimOne()
      const soon = { expiresInMs: 2 * unit }
      const late = [
        await added(soon),
        await added({ ...soon, delayMs: 50 * unit }),
        await added({ ...soon, group }),
        await added({ ...soon, blockers: [{ type: 'slow', id: 'job-1' }] }),
        await added({ ...soon, type: 'held' }),
      ]
      await storage.pause({ type: 'held', paused: true })
      const kept = await added({ expiresInMs: 60 * unit })
      assert.deepEqual((await storage.sweep({ limit: 100 })).ended, [])
      await advance(3 * unit)
      const { ended } = await storage.sweep({ limit: 100 })
      assert.deepEqual(ended.map(({ id }) => id).toSorted(), late.map(({ id }) => id).toSorted())
      for (const job of late) assert.equal((await findRecord(storage, job))!.reason, 'expired')
      assert.equal((await findRecord(storage, kept))!.state, 'queued')
    },
  },
  {
    name: 'a sweep ends no more jobs than its limit, and says that there are more',
    proves: ['F5'],
    run: async ({ storage, job, advance, unit }) => {
      await storage.add(Array.from({ length: 5 }, () => job({ expiresInMs: unit })))
      await advance(2 * unit)
      const first = await storage.sweep({ limit: 3 })
      assert.deepEqual([first.ended.length, first.more], [3, true])
      const second = await storage.sweep({ limit: 3 })
      assert.deepEqual([second.ended.length, second.more], [2, false])
    },
  },
  {
    name: 'a job that expired fails its dependents, frees its key and its id, and signals its end',
    proves: ['F5'],
    run: async ({ storage, added, job, advance, unit, until }) => {
      const done: string[] = []
      const stop = await storage.listen([{ kind: 'done', type: 'mail' }], ({ ids }) => done.push(...(ids ?? [])))
      const late = await added({ expiresInMs: 2 * unit, deduplication: { key: 'k', mode: 'simple' } })
      const dependent = await added({ type: 'after', blockers: [{ type: 'mail', id: late.id }] })
      await advance(3 * unit)
      await storage.sweep({ limit: 100 })
      await until(() => done.includes(late.id))
      await stop()
      assert.equal((await findRecord(storage, dependent))!.reason, 'blocker_failed')
      assert.equal(
        (await storage.add([job({ id: late.id, deduplication: { key: 'k', mode: 'simple' } })]))[0]!.verdict,
        'added',
      )
    },
  },
  {
    name: 'a job that expired can be revived, and then has no deadline',
    proves: ['F5'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      const late = await added({ expiresInMs: 2 * unit })
      await advance(3 * unit)
      await storage.sweep({ limit: 100 })
      assert.equal((await storage.revive([{ type: 'mail', id: late.id }]))[0]!.verdict, 'revived')
      await advance(3 * unit)
      await storage.sweep({ limit: 100 })
      assert.equal((await claimOne()).id, late.id)
    },
  },
]
