// add with onDuplicate: a new job takes the place of a waiting one.

import assert from 'node:assert/strict'
import type { NewJob } from 'holdfast/storage'
import { bytes, type Case, text } from '../case.ts'
import { findRecord } from '../records.ts'
import { chainOfTwo, inState } from '../scenarios.ts'

const keyed = (key: string): Partial<NewJob> => ({ deduplication: { key, mode: 'simple' } })

export const addReplaceCases: readonly Case[] = [
  {
    name: 'a replaced job has the payload and options of the new one, and runs once',
    proves: ['F4'],
    run: async ({ storage, added, job, claim, advance, unit }) => {
      const { id } = await added({ payload: bytes('old'), priority: 1, maxAttempts: 2, delayMs: 5 * unit })
      const fields = {
        payload: bytes('new'),
        priority: 7,
        maxAttempts: 9,
        timeoutMs: 1_234,
        onDuplicate: 'replace',
      } as const
      const [verdict] = await storage.add([job({ id, ...fields })])
      assert.equal(verdict!.verdict, 'replaced')
      const [claimed, ...others] = await claim()
      assert.deepEqual(
        [text(claimed!.payload), claimed!.priority, claimed!.maxAttempts, claimed!.timeoutMs, others.length],
        ['new', 7, 9, 1_234, 0],
      )
      await advance(6 * unit)
      assert.deepEqual(await claim(), [])
      assert.equal((await storage.count({ types: ['mail'] })).types[0]!.states.processing, 1)
    },
  },
  {
    name: 'a repeat of an add that replaced a job adds nothing',
    proves: ['F4', 'S7'],
    run: async ({ storage, added, job, claim }) => {
      const { id } = await added()
      const again = job({ id, payload: bytes('new'), onDuplicate: 'replace' })
      assert.equal((await storage.add([again]))[0]!.verdict, 'replaced')
      assert.equal((await storage.add([again]))[0]!.verdict, 'added')
      assert.equal((await claim()).length, 1)
      assert.equal((await storage.add([again]))[0]!.verdict, 'added')
      assert.deepEqual(await claim(), [])
    },
  },
  ...(['scheduled', 'queued', 'failing'] as const).map((state): Case => ({
    name: `a ${state} job can be replaced`,
    proves: ['F4'],
    run: async (context) => {
      const { id } = await inState(context, state)
      const [verdict] = await context.storage.add([context.job({ id, payload: bytes('new'), onDuplicate: 'replace' })])
      assert.equal(verdict!.verdict, 'replaced')
      const record = await findRecord(context.storage, { type: 'mail', id })
      assert.deepEqual([record!.state, record!.failures, record!.attempt], ['queued', 0, 0])
    },
  })),
  ...(['processing', 'completed', 'blocked'] as const).map((state): Case => ({
    name: `a ${state} job is not replaced: the new one is a duplicate`,
    proves: ['F4'],
    run: async (context) => {
      const { id } = await inState(context, state)
      const [verdict] = await context.storage.add([context.job({ id, payload: bytes('new'), onDuplicate: 'replace' })])
      assert.ok(verdict?.verdict === 'duplicate' && verdict.by === 'id')
      assert.equal(verdict.job.state, state)
      const [record] = await context.storage.get([{ type: 'mail', id }], { parts: ['payload'] })
      assert.notEqual(text(record!.payload), 'new')
    },
  })),
  {
    name: 'a job that continues a chain is not replaced',
    proves: ['F4'],
    run: async (context) => {
      const { first, next } = await chainOfTwo(context)
      for (const { type, id } of [first, next]) {
        const [verdict] = await context.storage.add([context.job({ type, id, onDuplicate: 'replace' })])
        assert.equal(verdict!.verdict, 'duplicate')
      }
    },
  },
  {
    name: 'without onDuplicate, or with return, a waiting job stays as it is',
    proves: ['F4'],
    run: async ({ storage, added, job }) => {
      const { id } = await added({ payload: bytes('old') })
      for (const onDuplicate of [undefined, 'return'] as const) {
        const [verdict] = await storage.add([job({ id, payload: bytes('new'), ...(onDuplicate && { onDuplicate }) })])
        assert.equal(verdict!.verdict, 'duplicate')
      }
      const [record] = await storage.get([{ type: 'mail', id }], { parts: ['payload'] })
      assert.equal(text(record!.payload), 'old')
    },
  },
  {
    name: 'a job that has a key can be replaced by one with the same key; another key is freed',
    proves: ['F4', 'F25'],
    run: async ({ storage, added, job }) => {
      const { id } = await added(keyed('k'))
      const [same] = await storage.add([job({ id, ...keyed('k'), onDuplicate: 'replace' })])
      assert.equal(same!.verdict, 'replaced')
      assert.equal((await storage.add([job(keyed('k'))]))[0]!.verdict, 'duplicate')
      const [other] = await storage.add([job({ id, ...keyed('l'), onDuplicate: 'replace' })])
      assert.equal(other!.verdict, 'replaced')
      assert.equal((await storage.add([job(keyed('k'))]))[0]!.verdict, 'added')
      assert.equal((await storage.add([job(keyed('l'))]))[0]!.verdict, 'duplicate')
    },
  },
  {
    name: 'a job does not replace another whose key is held by a third',
    proves: ['F4', 'F25'],
    run: async ({ storage, added, job }) => {
      const [waiting, holder] = [await added(), await added({ deduplication: { key: 'k', mode: 'simple' } })]
      const taken = job({ id: waiting.id, deduplication: { key: 'k', mode: 'simple' }, onDuplicate: 'replace' })
      const [verdict] = await storage.add([taken])
      assert.ok(verdict?.verdict === 'duplicate' && verdict.by === 'key')
      assert.equal(verdict.job.id, holder.id)
      assert.equal((await findRecord(storage, waiting))!.token, waiting.token)
    },
  },
  {
    name: 'a job that waits for a replaced job waits for the new one',
    proves: ['F4'],
    run: async ({ storage, added, job, claimOne }) => {
      const blocker = await added({ delayMs: 60_000_000 })
      const dependent = await added({ type: 'after', blockers: [{ type: 'mail', id: blocker.id }] })
      await storage.add([job({ id: blocker.id, onDuplicate: 'replace' })])
      assert.equal((await findRecord(storage, dependent))!.state, 'blocked')
      const { type, id, worker, attempt } = await claimOne()
      await storage.settle([{ type, id, worker, attempt, kind: 'completed' }])
      assert.equal((await findRecord(storage, dependent))!.state, 'queued')
    },
  },
  {
    name: 'a replaced member of an ordered group leaves its place to the next',
    proves: ['F4'],
    run: async ({ storage, added, job, claimOne }) => {
      const group = { key: 'g', ordered: true } as const
      const [first, second] = [await added({ group }), await added({ group })]
      await storage.add([job({ id: first.id, group, onDuplicate: 'replace' })])
      assert.equal((await claimOne()).id, second.id)
    },
  },
]
