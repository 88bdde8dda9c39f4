// nextDueAt: how long a worker may sleep. Never later than the first instant at which a claim would yield something,
// ends of leases included, and never earlier for jobs that a claim would skip.
// Longer than most files: one file per rule of the contract, and this rule has many cases.

import assert from 'node:assert/strict'
import type { Storage } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, settleOne } from '../outcomes.ts'
import { idsOf, jobStates, recordOf, refOf } from '../records.ts'
import { claimType, inState, runOne } from '../scenarios.ts'
import { nextDueLimitCases } from './next-due-limits.ts'

const inGroup = (key: string) => ({ group: { key, ordered: true } }) as const

const nextOf = (storage: Storage, ...types: string[]) =>
  storage.nextDueAt((types.length ? types : ['mail']).map((type) => ({ type, leaseMs: 1000 })))

async function isNow(storage: Storage, ...types: string[]): Promise<void> {
  const next = await nextOf(storage, ...types)
  assert.ok(next && next.at <= next.now, `${next?.at} was expected to be at most ${next?.now}`)
}

async function isAt(storage: Storage, at: number | undefined, ...types: string[]): Promise<void> {
  assert.equal((await nextOf(storage, ...types))?.at, at)
}

/** Advances to the next due instant and claims. Returns the ids, of which there must be at least one. */
async function yields({ storage, advance, claim }: CaseContext): Promise<string[]> {
  const next = (await nextOf(storage))!
  await advance(Math.max(0, next.at - next.now))
  const ids = idsOf(await claim())
  assert.ok(ids.length > 0, 'expected a claim at that instant to yield jobs, got none')
  return ids
}

export const nextDueAtCases: readonly Case[] = [
  {
    name: 'there is no next due instant for an empty storage, for no types, and for a type without jobs',
    run: async ({ storage, added }) => {
      await isAt(storage, undefined)
      await added({ type: 'sms' })
      await isAt(storage, undefined)
      assert.equal(await storage.nextDueAt([]), undefined)
    },
  },
  ...jobStates.map((state): Case => {
    const expected = { queued: 'now', scheduled: 'its time', failing: 'its time', processing: 'the end of its lease' }[
      state as string
    ]
    return {
      name: `a ${state} job can be claimed ${expected === undefined ? 'never' : `at ${expected}`}`,
      proves: ['L2'],
      run: async (context) => {
        const { storage } = context
        const job = await inState(context, state)
        const { runAt, leaseUntil } = await recordOf(storage, job)
        if (state === 'queued') await isNow(storage)
        else await isAt(storage, expected === 'its time' ? runAt : leaseUntil)
        if (expected !== undefined) assert.deepEqual(await yields(context), [job.id])
      },
    }
  }),
  {
    name: 'the nextDue of a claim that leaves slots free is absent or right',
    proves: ['L2'],
    run: async (context) => {
      const { storage, added } = context
      const saysTheSame = async (slots = 2): Promise<void> => {
        const { nextDue } = await storage.claim({ worker: 'w', slots, types: [{ type: 'mail', leaseMs: 1000 }] })
        if (nextDue !== undefined) assert.equal(nextDue?.at, (await nextOf(storage))?.at)
      }
      await saysTheSame()
      await inState(context, 'scheduled')
      await saysTheSame()
      await added()
      await saysTheSame()
      await added(inGroup('g'))
      await storage.pause({ type: 'mail', group: 'g', paused: true })
      await added({ priority: 5 })
      await saysTheSame(3)
      await storage.pause({ type: 'mail', paused: true })
      await saysTheSame()
    },
  },
  {
    name: 'the answer has the storage’s time',
    run: async ({ storage, added, now, unit }) => {
      await added({ delayMs: 10 * unit })
      const before = await now()
      const next = (await nextOf(storage))!
      assert.ok(next.now >= before && next.now <= (await now()))
    },
  },
  {
    name: 'the answer is the earliest instant over the types asked for and no other',
    run: async ({ storage, added, unit }) => {
      const at: Record<string, number> = {}
      for (const [type, delay] of [
        ['a', 30],
        ['b', 20],
        ['c', 10],
      ] as const) {
        const job = await added({ type, delayMs: delay * unit })
        await added({ type, delayMs: 60 * unit })
        at[type] = (await recordOf(storage, job)).runAt
      }
      await isAt(storage, at.a, 'a')
      await isAt(storage, at.b, 'a', 'b')
      await isAt(storage, at.c, 'b', 'c', 'a', 'nothing')
    },
  },
  {
    name: 'a job that is due exactly now is due now',
    run: async (context) => {
      const { storage, added, advance, claimOne, unit } = context
      const job = await added({ delayMs: 10 * unit })
      await advance(10 * unit)
      await isNow(storage)
      assert.equal((await claimOne()).id, job.id)
    },
  },
  {
    name: 'an extended lease moves the instant, and a settled one removes it',
    run: async ({ storage, added, claimOne, unit }) => {
      await added()
      const { type, id, worker, attempt } = await claimOne()
      const [extended] = await storage.extend([{ type, id, worker, attempt, leaseMs: 40 * unit }])
      assert.ok(extended!.verdict === 'extended')
      await isAt(storage, extended!.verdict === 'extended' ? extended!.until : undefined)
      await complete(storage, { type, id, worker, attempt })
      await isAt(storage, undefined)
    },
  },
  {
    name: 'a job with an ended lease is due now',
    proves: ['L2'],
    run: async (context) => {
      const { storage, advance, claimOne, unit } = context
      const job = await inState(context, 'processing')
      await advance(10 * unit)
      await isNow(storage)
      assert.equal((await claimOne()).id, job.id)
    },
  },
  {
    name: 'the answer is the earlier of a lease’s end and a waiting job',
    run: async (context) => {
      const { storage, added, unit } = context
      const held = await inState(context, 'processing')
      const { leaseUntil } = await recordOf(storage, held)
      await added({ delayMs: 30 * unit })
      await isAt(storage, leaseUntil)
      const sooner = await added({ delayMs: 5 * unit })
      await isAt(storage, (await recordOf(storage, sooner)).runAt)
    },
  },
  {
    name: 'a snooze, a retry and a revival move the instant',
    run: async ({ storage, added, claimOne, now, unit }) => {
      const job = await added()
      const snoozed = await settleOne(storage, await claimOne(), { kind: 'released', delayMs: 30 * unit })
      await isAt(storage, snoozed.runAt)
      const runAt = (await now()) + 20 * unit
      await storage.revive([refOf(job)], { runAt })
      await isAt(storage, runAt)
      await storage.revive([refOf(job)])
      await isNow(storage)
      const retried = await settleOne(storage, await claimOne(), { kind: 'retry', delayMs: 40 * unit })
      await isAt(storage, retried.runAt)
    },
  },
  {
    name: 'cancelled, removed and expired jobs do not count',
    run: async (context) => {
      const { storage } = context
      await storage.cancel([refOf(await inState(context, 'scheduled'))])
      await storage.cancel([refOf(await inState(context, 'processing'))], { force: true })
      await storage.remove([refOf(await inState(context, 'failing'))], { trees: true })
      await isAt(storage, undefined)
    },
  },
  {
    name: 'a blocked job counts from the instant at which it is unblocked',
    run: async (context) => {
      const { storage } = context
      await inState(context, 'blocked')
      await isAt(storage, undefined)
      await runOne(context, 'open blocker')
      await isNow(storage)
    },
  },
  {
    name: 'a paused type and its leases do not count until it is resumed',
    proves: ['F26'],
    run: async (context) => {
      const { storage, added, advance, unit } = context
      await inState(context, 'processing')
      await added({ delayMs: 20 * unit })
      await added()
      const other = await added({ type: 'sms', delayMs: 50 * unit })
      await storage.pause({ type: 'mail', paused: true })
      await isAt(storage, undefined)
      await advance(11 * unit)
      await isAt(storage, undefined)
      await isAt(storage, (await recordOf(storage, other)).runAt, 'mail', 'sms')
      await storage.pause({ type: 'mail', paused: false })
      await isNow(storage)
    },
  },
  {
    name: 'only the head of an ordered group counts: due jobs behind it wake no worker',
    proves: ['F21'],
    run: async (context) => {
      const { storage, added, unit } = context
      const head = await added({ ...inGroup('g'), delayMs: 30 * unit })
      await added(inGroup('g'))
      await added({ ...inGroup('g'), delayMs: 10 * unit })
      await isAt(storage, (await recordOf(storage, head)).runAt)
      assert.deepEqual(await yields(context), [head.id])
    },
  },
  {
    name: 'a group with a running head is due at the end of that lease',
    proves: ['F21', 'L2'],
    run: async (context) => {
      const { storage, added, claimOne } = context
      const [head, second] = [await added(inGroup('g')), await added(inGroup('g'))]
      const lease = await claimOne()
      await isAt(storage, lease.leaseUntil)
      assert.deepEqual(await yields(context), [head.id])
      await complete(storage, (await recordLease(storage, head))!)
      await isNow(storage)
      assert.deepEqual(await yields(context), [second.id])
    },
  },
  {
    name: 'a retry of a head holds the group until its runAt',
    proves: ['F21', 'S18'],
    run: async (context) => {
      const { storage, added, claimOne, unit } = context
      const [head] = [await added(inGroup('g')), await added(inGroup('g'))]
      const { runAt } = await settleOne(storage, await claimOne(), { kind: 'retry', delayMs: 30 * unit })
      await isAt(storage, runAt)
      assert.deepEqual(await yields(context), [head.id])
    },
  },
  {
    name: 'a held group does not change the instant of other jobs',
    run: async ({ storage, added, claimOne, unit }) => {
      await added(inGroup('g'))
      await added(inGroup('g'))
      await claimOne()
      const other = await added({ ...inGroup('h'), delayMs: 5 * unit })
      await isAt(storage, (await recordOf(storage, other)).runAt)
      await added()
      await isNow(storage)
    },
  },
  {
    name: 'a paused group does not count',
    proves: ['F26'],
    run: async ({ storage, added, unit }) => {
      await added(inGroup('g'))
      await added(inGroup('g'))
      await storage.pause({ type: 'mail', group: 'g', paused: true })
      await isAt(storage, undefined)
      const other = await added({ delayMs: 30 * unit })
      await isAt(storage, (await recordOf(storage, other)).runAt)
      await storage.pause({ type: 'mail', group: 'g', paused: false })
      await isNow(storage)
    },
  },
  {
    name: 'the leases of a paused group do not count, because a claim would not run them',
    proves: ['F26'],
    run: async ({ storage, added, advance, claim, claimOne, unit }) => {
      await added(inGroup('g'))
      await claimOne()
      await storage.pause({ type: 'mail', group: 'g', paused: true })
      await isAt(storage, undefined)
      await advance(11 * unit)
      assert.deepEqual(await claim(), [])
      await isAt(storage, undefined)
      await storage.pause({ type: 'mail', group: 'g', paused: false })
      await isNow(storage)
    },
  },
  {
    name: 'after a cancel of the head the next job of its group counts',
    proves: ['F21'],
    run: async (context) => {
      const { storage, added, unit } = context
      const [head, second] = [
        await added({ ...inGroup('g'), delayMs: 30 * unit }),
        await added({ ...inGroup('g'), delayMs: 10 * unit }),
      ]
      await storage.cancel([refOf(head)])
      await isAt(storage, (await recordOf(storage, second)).runAt)
    },
  },
  {
    name: 'before each instant a claim yields nothing and at the instant it yields a job, until none is left',
    proves: ['S14', 'L2'],
    run: async (context) => {
      const { storage, added, claim, unit } = context
      for (const delay of [20, 5, 10]) await added({ type: 'mail', delayMs: delay * unit, maxAttempts: 1 })
      await added({ ...inGroup('g'), delayMs: 15 * unit, maxAttempts: 1 })
      for (let left = 4; left > 0; left--) {
        assert.deepEqual(await claim(), [])
        const next = (await nextOf(storage))!
        assert.ok(next.at > next.now)
        await context.advance(next.at - next.now)
        const lease = await claimType(context, 'mail')
        await complete(storage, lease)
      }
      await isAt(storage, undefined)
    },
  },
  ...nextDueLimitCases,
]

/** The fence of the current holder. */
async function recordLease(storage: Storage, job: { type: string; id: string }) {
  const { type, id, worker, attempt } = await recordOf(storage, job)
  return worker === undefined ? undefined : { type, id, worker, attempt }
}
