// The event stream: each step of each job once, in order, with the attempts that count.

import assert from 'node:assert/strict'
import type { JobEvent, Storage } from 'holdfast/storage'
import { bytes } from '../case.ts'
import type { Case, CaseContext } from '../case.ts'
import { complete, fail, settleOne } from '../outcomes.ts'
import { refOf } from '../records.ts'
import { claimType, inState } from '../scenarios.ts'

/** Collects the events of types until `ended`, which waits for every event sent before it. */
async function record({ added, until }: CaseContext, storage: Storage, ...types: string[]) {
  const events: JobEvent[] = []
  const topics = [...types, 'the last'].map((type) => ({ kind: 'events', type }) as const)
  let last = false
  const unlisten = await storage.listen(topics, (signal) => {
    if (signal.type === 'the last') last = true
    else events.push(...(signal.events ?? []))
  })
  return {
    events,
    ended: async (count: number): Promise<JobEvent[]> => {
      await until(() => events.length >= count)
      await added({ type: 'the last' })
      await until(() => last)
      await unlisten()
      return events
    },
  }
}

type Step = readonly [event: JobEvent['event'], attempt: number]

/** A life of one job of type 'mail', with its expected events. */
const lives: readonly (readonly [
  name: string,
  steps: readonly Step[],
  live: (context: CaseContext) => Promise<unknown>,
])[] = [
  [
    'a job that completes',
    [
      ['queued', 0],
      ['processing', 1],
      ['completed', 1],
    ],
    (context) => inState(context, 'completed'),
  ],
  ['a job that is due later', [['scheduled', 0]], (context) => inState(context, 'scheduled')],
  [
    'a job that fails, is tried again and fails for good',
    [
      ['queued', 0],
      ['processing', 1],
      ['failing', 1],
      ['processing', 2],
      ['failed', 2],
    ],
    async ({ storage, added, claimOne }) => {
      await added({ maxAttempts: 2 })
      await settleOne(storage, await claimOne(), { kind: 'retry', error: bytes('e') })
      await settleOne(storage, await claimOne(), { kind: 'retry', error: bytes('e') })
    },
  ],
  [
    'a job cancelled while it waits',
    [
      ['queued', 0],
      ['cancelled', 0],
    ],
    (context) => inState(context, 'cancelled'),
  ],
  [
    'a job whose lease is lost, and which is claimed again',
    [
      ['queued', 0],
      ['processing', 1],
      ['stalled', 1],
      ['processing', 2],
    ],
    async (context) => {
      await inState(context, 'processing')
      await context.advance(11 * context.unit)
      await context.claimOne()
    },
  ],
  [
    'a job whose last lease is lost',
    [
      ['queued', 0],
      ['processing', 1],
      ['stalled', 1],
      ['failed', 1],
    ],
    async (context) => {
      await inState(context, 'processing', { maxAttempts: 1 })
      await context.advance(11 * context.unit)
      await context.storage.recover({ types: ['mail'], limit: 10 })
    },
  ],
  [
    'a job given up as stalled, twice',
    [
      ['queued', 0],
      ['processing', 1],
      ['stalled', 1],
      ['processing', 2],
      ['stalled', 2],
      ['failed', 2],
    ],
    async ({ storage, added, claimOne }) => {
      await added({ maxAttempts: 2 })
      await settleOne(storage, await claimOne(), { kind: 'retry', stalled: true })
      await settleOne(storage, await claimOne(), { kind: 'retry', stalled: true })
    },
  ],
]

const steps = (events: readonly JobEvent[]): Step[] => events.map(({ event, attempt }) => [event, attempt])
const names = (events: readonly JobEvent[]): string[] => events.map(({ event }) => event)

export const listenEventCases: readonly Case[] = [
  ...lives.map(([name, expected, live]): Case => ({
    name: `events of ${name}: ${expected.map(([event]) => event).join(', ')}`,
    proves: ['Q6.11'],
    run: async (context) => {
      const { ended } = await record(context, context.storage, 'mail')
      await live(context)
      const events = await ended(expected.length)
      assert.deepEqual(steps(events), expected)
      assert.equal(new Set(events.map(({ id }) => id)).size, 1)
    },
  })),
  {
    name: 'a released job emits requeued, and its next run has the same attempt',
    proves: ['Q6.11'],
    run: async (context) => {
      const { storage, added, claimOne } = context
      const { ended } = await record(context, storage, 'mail')
      await added()
      await settleOne(storage, await claimOne(), { kind: 'released' })
      await claimOne()
      const events = await ended(4)
      assert.deepEqual(names(events), ['queued', 'processing', 'requeued', 'processing'])
      assert.deepEqual([events[1]!.attempt, events[3]!.attempt], [1, 1])
    },
  },
  {
    name: 'a job cancelled by force and one that was asked to stop emit cancelled when they end',
    run: async (context) => {
      const { storage, added, claimOne } = context
      const { ended } = await record(context, storage, 'mail')
      const [first, second] = [await added(), await added()]
      const lease = await claimOne({ slots: 1 })
      await storage.cancel([refOf(first)], { abort: true })
      await settleOne(storage, lease, { kind: 'retry' })
      await claimOne()
      await storage.cancel([refOf(second)], { force: true })
      const events = await ended(6)
      for (const { id } of [first, second]) {
        assert.deepEqual(names(events.filter((event) => event.id === id)), ['queued', 'processing', 'cancelled'])
      }
    },
  },
  {
    name: 'a job that fails with its blocker emits failed',
    run: async (context) => {
      const { storage } = context
      const job = await inState(context, 'blocked')
      const { ended } = await record(context, storage, 'mail', 'open blocker')
      await fail(storage, await claimType(context, 'open blocker'))
      const events = await ended(3)
      assert.deepEqual(names(events.filter(({ id }) => id === job.id)), ['failed'])
    },
  },
  {
    name: 'an event has the storage’s time and the label of its worker, if any',
    run: async (context) => {
      const { storage, added, claimOne, advance, now, unit } = context
      const before = await now()
      const { ended } = await record(context, storage, 'mail')
      await added()
      await advance(unit)
      await complete(storage, await claimOne({ label: 'host-1' }))
      const events = await ended(3)
      assert.deepEqual(
        events.map(({ label }) => label),
        [undefined, 'host-1', 'host-1'],
      )
      assert.ok(events[0]!.at >= before && events[1]!.at >= events[0]!.at + unit && events[2]!.at >= events[1]!.at)
      assert.ok(events[2]!.at <= (await now()))
    },
  },
  {
    name: 'many jobs emit each step once, in order per job',
    proves: ['trap 25'],
    run: async (context) => {
      const { storage, job, claim } = context
      const { ended } = await record(context, storage, 'mail')
      const jobs = Array.from({ length: 50 }, () => job())
      await storage.add(jobs)
      for (const lease of await claim()) await complete(storage, lease)
      const events = await ended(150)
      assert.equal(events.length, 150)
      for (const { id } of jobs) {
        assert.deepEqual(names(events.filter((event) => event.id === id)), ['queued', 'processing', 'completed'])
      }
    },
  },
  {
    name: 'a duplicate, a repeat, a refused write and a cancel of an ended job emit nothing',
    proves: ['S7'],
    run: async (context) => {
      const { storage, job, claimOne } = context
      const { ended } = await record(context, storage, 'mail')
      const given = job()
      await storage.add([given])
      await storage.add([given])
      await storage.add([{ ...given, token: 'other' }])
      const lease = await claimOne()
      await storage.cancel([refOf(given)])
      await complete(storage, lease)
      await complete(storage, lease)
      await storage.settle([{ ...refOf(lease), worker: 'other', attempt: 1, kind: 'failed' }])
      await storage.cancel([refOf(given)], { force: true })
      assert.deepEqual(names(await ended(3)), ['queued', 'processing', 'completed'])
    },
  },
  {
    name: 'a listener for events of one type gets no others, and a listener for hints gets no events',
    proves: ['S24'],
    run: async (context) => {
      const { storage, added } = context
      let others = 0
      const unlisten = await storage.listen([{ kind: 'wake', type: 'mail' }], ({ events }) => void (events && others++))
      const { ended } = await record(context, storage, 'mail')
      await added({ type: 'sms' })
      const { id } = await added()
      assert.deepEqual(
        (await ended(1)).map((event) => event.id),
        [id],
      )
      assert.equal(others, 0)
      await unlisten()
    },
  },
  {
    name: 'events reach listeners of another handle',
    needs: ['fleetEvents'],
    proves: ['trap 25'],
    run: async (context) => {
      const other = await context.another()
      await other.connect()
      const { ended } = await record(context, other, 'mail')
      await inState(context, 'completed')
      assert.deepEqual(names(await ended(3)), ['queued', 'processing', 'completed'])
      await other.disconnect()
    },
  },
  {
    name: 'a transaction that is rolled back emits nothing',
    needs: ['transactions'],
    proves: ['S23', 'chains trap 18'],
    run: async (context) => {
      const { storage, added, job } = context
      const { ended } = await record(context, storage, 'mail')
      const rolledBack = storage.transaction!(async (tx) => {
        await storage.add([job()], tx)
        throw new Error('rolled back')
      })
      await assert.rejects(rolledBack, /rolled back/)
      const { id } = await added()
      assert.deepEqual(
        (await ended(1)).map((event) => event.id),
        [id],
      )
    },
  },
]
