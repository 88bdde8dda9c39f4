// The hints: what sends wake, done and abort.

import assert from 'node:assert/strict'
import type { JobRef, Signal, TopicKind } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, fail, outcomeOf, settleOne } from '../outcomes.ts'
import { refOf } from '../records.ts'
import { chainOfTwo, claimType, claimWithin, inState, runOne, treeOfTwo } from '../scenarios.ts'

/** Listens, acts, and waits for a signal of that kind, for this job if one is named. */
async function expectSignal(
  { storage, until }: CaseContext,
  kind: TopicKind,
  { type, id }: { type: string; id?: string },
  act: () => Promise<unknown>,
): Promise<void> {
  const signals: Signal[] = []
  const unlisten = await storage.listen([{ kind, type }], (signal) => void signals.push(signal))
  await act()
  await until(() => signals.some(({ ids }) => id === undefined || ids === undefined || ids.includes(id)))
  for (const signal of signals) assert.deepEqual([signal.kind, signal.type], [kind, type])
  await unlisten()
}

/** Every way in which a job of type 'mail' becomes claimable, or claimable at another time. */
const wakes: Readonly<Record<string, (context: CaseContext) => Promise<() => Promise<unknown>>>> = {
  'an add': async ({ added }) => added,
  'an add of a job that is due later':
    async ({ added, unit }) =>
    () =>
      added({ delayMs: unit }),
  'a release': async ({ storage, added, claimOne }) => {
    await added()
    const lease = await claimOne()
    return () => settleOne(storage, lease, { kind: 'released' })
  },
  'a retry': async ({ storage, added, claimOne }) => {
    await added()
    const lease = await claimOne()
    return () => settleOne(storage, lease, { kind: 'retry' })
  },
  'an attempt given up as stalled': async ({ storage, added, claimOne }) => {
    await added()
    const lease = await claimOne()
    return () => settleOne(storage, lease, { kind: 'retry', stalled: true })
  },
  'a lost lease that is taken back': async (context) => {
    await inState(context, 'processing')
    await context.advance(11 * context.unit)
    return () => context.storage.recover({ types: ['mail'], limit: 10 })
  },
  'a revival': async (context) => {
    const job = await inState(context, 'failed')
    return () => context.storage.revive([refOf(job)])
  },
  'a waiting job moved to now': async (context) => {
    const job = await inState(context, 'scheduled')
    return () => context.storage.revive([refOf(job)])
  },
  'a resume of the type': async ({ storage, added }) => {
    await storage.pause({ type: 'mail', paused: true })
    await added()
    return () => storage.pause({ type: 'mail', paused: false })
  },
  'a resume of the group': async ({ storage, added }) => {
    await storage.pause({ type: 'mail', group: 'g', paused: true })
    await added({ group: { key: 'g', ordered: true } })
    return () => storage.pause({ type: 'mail', group: 'g', paused: false })
  },
  'the end of the head of a group': async ({ storage, added, claimOne }) => {
    const group = { key: 'g', ordered: true } as const
    await added({ group })
    await added({ group })
    const lease = await claimOne()
    return () => complete(storage, lease)
  },
  'a cancelled head of a group': async ({ storage, added, unit }) => {
    const group = { key: 'g', ordered: true } as const
    const head = await added({ group, delayMs: 50 * unit })
    await added({ group })
    return () => storage.cancel([refOf(head)])
  },
  'a removed head of a group': async ({ storage, added, unit }) => {
    const group = { key: 'g', ordered: true } as const
    const head = await added({ group, delayMs: 50 * unit })
    await added({ group })
    return () => storage.remove([refOf(head)], { trees: true })
  },
  'an add to an unordered group that has due jobs': async ({ added }) => {
    await added({ group: { key: 'g' } })
    return () => added({ group: { key: 'g' } })
  },
  'the end of a job of a type at its concurrency': async (context) => {
    for (let count = 0; count < 2; count++) await context.added()
    const [lease] = await claimWithin(context, { concurrency: 1 })
    return () => complete(context.storage, lease!)
  },
  'the end of a job of a type that a claim with outcomes filled again': async (context) => {
    const { storage, added, claim, unit } = context
    for (let count = 0; count < 3; count++) await added()
    const limits = { concurrency: 1 }
    const [first] = await claimWithin(context, limits)
    const outcomes = [outcomeOf(first!, { kind: 'completed' })]
    const [second] = await claim({ slots: 100, outcomes, types: [{ type: 'mail', leaseMs: 500 * unit, limits }] })
    return () => complete(storage, second!)
  },
  'the end of a job of a group at its limit': async (context) => {
    for (let count = 0; count < 2; count++) await context.added({ group: { key: 'g' } })
    const [lease] = await claimWithin(context, { group: { limit: 1 } })
    return () => complete(context.storage, lease!)
  },
  'the removal of the job that holds its group': async ({ storage, added, claimOne }) => {
    const group = { key: 'g', ordered: true, onFailure: 'hold' } as const
    const head = await added({ group })
    await added({ group })
    await fail(storage, await claimOne())
    return () => storage.remove([refOf(head)])
  },
  'the end of the last blocker': async (context) => {
    await inState(context, 'blocked')
    return () => runOne(context, 'open blocker')
  },
  'a continuation': async (context) => {
    await context.added({ type: 'first' })
    const lease = await claimType(context, 'first')
    return () => settleOne(context.storage, lease, { kind: 'continued', next: context.job() })
  },
  'a job added by a settle': async (context) => {
    await context.added({ type: 'first' })
    const lease = await claimType(context, 'first')
    return () => settleOne(context.storage, lease, { kind: 'completed', add: [context.job()] })
  },
  'a job added by an outcome that a claim carries': async (context) => {
    const { storage, added, claimRequest, job } = context
    await added({ type: 'first' })
    const lease = await claimType(context, 'first')
    const outcomes = [outcomeOf(lease, { kind: 'completed', add: [job()] })]
    return () => storage.claim(claimRequest({ outcomes, types: [] }))
  },
}

const wakeCases = Object.entries(wakes).map(([what, prepare]): Case => ({
  name: `${what} sends wake to listeners of the type`,
  proves: ['F1', 'L5'],
  run: async (context) => {
    const act = await prepare(context)
    await expectSignal(context, 'wake', { type: 'mail' }, act)
  },
}))

/** Every way in which a chain of type 'mail' ends or is removed. */
const ends: Readonly<Record<string, (context: CaseContext) => Promise<readonly [JobRef, () => Promise<unknown>]>>> = {
  completed: async (context) => [await inState(context, 'queued'), () => runOne(context)],
  failed: async (context) => {
    const job = await inState(context, 'queued')
    return [job, async () => fail(context.storage, await context.claimOne())]
  },
  'was cancelled': async (context) => {
    const job = await inState(context, 'queued')
    return [job, () => context.storage.cancel([refOf(job)])]
  },
  'was cancelled by force': async (context) => {
    const job = await inState(context, 'processing')
    return [job, () => context.storage.cancel([refOf(job)], { force: true })]
  },
  'failed as stalled, in a claim': async (context) => {
    const job = await inState(context, 'processing', { maxAttempts: 1 })
    await context.advance(11 * context.unit)
    return [job, () => context.claim()]
  },
  'failed as stalled, by recover': async (context) => {
    const job = await inState(context, 'processing', { maxAttempts: 1 })
    await context.advance(11 * context.unit)
    return [job, () => context.storage.recover({ types: ['mail'], limit: 10 })]
  },
  'failed with its blocker': async (context) => {
    const job = await inState(context, 'blocked')
    return [job, async () => fail(context.storage, await claimType(context, 'open blocker'))]
  },
  'completed, by the end of its tail in another type': async (context) => {
    const { first } = await chainOfTwo(context)
    return [first, () => runOne(context, 'next')]
  },
  'was removed': async (context) => {
    const job = await inState(context, 'completed')
    return [job, () => context.storage.remove([refOf(job)])]
  },
  'was removed with its tree': async (context) => {
    const { root } = await treeOfTwo(context)
    return [root, () => context.storage.remove([refOf(root)], { trees: true })]
  },
  'was completed without a worker': async (context) => {
    const job = await inState(context, 'queued')
    const fence = { ...refOf(job), chain: refOf(job), token: 'outside' }
    return [job, () => context.storage.settle([{ ...fence, kind: 'completed' }])]
  },
}

const doneCases = Object.entries(ends).map(([how, prepare]): Case => ({
  name: `a chain that ${how} sends done to listeners of its type`,
  proves: ['S25', 'trap 12'],
  run: async (context) => {
    const [job, act] = await prepare(context)
    await expectSignal(context, 'done', job, act)
  },
}))

/** Every change that the holder of a running job must learn of promptly. */
const aborts: Readonly<Record<string, (context: CaseContext, job: JobRef) => Promise<unknown>>> = {
  'asked to stop': ({ storage }, job) => storage.cancel([job], { abort: true }),
  'ended by force': ({ storage }, job) => storage.cancel([job], { force: true }),
  removed: ({ storage }, job) => storage.remove([job], { trees: true }),
  'completed without a worker': ({ storage }, job) =>
    storage.settle([{ ...job, chain: job, token: 'outside', kind: 'completed' }]),
  'taken back because of its age': ({ storage }) => storage.recover({ types: ['mail'], limit: 10, olderThanMs: 0 }),
  'taken back because its lease ended': async ({ storage, advance, unit }) => {
    await advance(11 * unit)
    await storage.recover({ types: ['mail'], limit: 10 })
  },
}

const abortCases = Object.entries(aborts).map(([how, act]): Case => ({
  name: `a running job that is ${how} sends abort to listeners of its type`,
  proves: ['F17', 'chains trap 15'],
  run: async (context) => {
    const job = await inState(context, 'processing')
    if (how.includes('age')) await context.advance(context.unit)
    await expectSignal(context, 'abort', refOf(job), () => act(context, refOf(job)))
  },
}))

export const listenHintCases: readonly Case[] = [...wakeCases, ...doneCases, ...abortCases]
