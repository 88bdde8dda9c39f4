// The deduplication mode followUp: at most one job runs, and at most one waits for its end.
// Longer than most files: every end of the first job, and every end of its follower.

import assert from 'node:assert/strict'
import type { AddVerdict, NewJob } from 'holdfast/storage'
import { bytes, type Case, type CaseContext, text } from '../case.ts'
import { complete, continueWith, fail, retry, settleOne } from '../outcomes.ts'
import { idsOf, recordOf, snapshotOf, statesOf } from '../records.ts'
import { addOne, runOne } from '../scenarios.ts'

const deduplication = { key: 'k', mode: 'followUp' } as const
const first = { type: 'mail', id: 'first' }
const follower = { type: 'mail', id: 'follower' }

const following = ({ job }: CaseContext, payload: string, fields: Partial<NewJob> = {}): NewJob =>
  job({ deduplication, payload: bytes(payload), ...fields })

const add = (context: CaseContext, payload: string, fields?: Partial<NewJob>): Promise<AddVerdict> =>
  addOne(context.storage, following(context, payload, fields))

/** The verdict, and the id of the job that stands. */
const shownOf = (verdict: AddVerdict): unknown[] => [verdict.verdict, 'job' in verdict && verdict.job.id]

/** Adds `first` and claims it; then adds `follower`. */
async function followed(context: CaseContext, fields: Partial<NewJob> = {}) {
  assert.equal((await add(context, 'one', { id: 'first', ...fields })).verdict, 'added')
  const lease = await context.claimOne({ types: [{ type: 'mail', leaseMs: 10 * context.unit }] })
  const verdict = await add(context, 'two', { id: 'follower' })
  assert.deepEqual([...shownOf(verdict), 'job' in verdict && verdict.job.state], ['added', 'follower', 'blocked'])
  return lease
}

const ends: readonly (readonly [
  string,
  (context: CaseContext, lease: Awaited<ReturnType<typeof followed>>) => Promise<unknown>,
])[] = [
  ['has completed', ({ storage }, lease) => complete(storage, lease)],
  ['has failed', ({ storage }, lease) => fail(storage, lease)],
  ['was cancelled by force', ({ storage }) => storage.cancel([first], { force: true })],
  [
    'has lost its last lease',
    async ({ storage, advance, unit }) => {
      await advance(11 * unit)
      await storage.recover({ types: ['mail'], limit: 10 })
    },
  ],
  [
    'was cancelled while it waits again',
    async ({ storage, unit }, lease) => {
      await retry(storage, lease, 500 * unit)
      await storage.cancel([first])
    },
  ],
]

const endCases: readonly Case[] = ends.map(([what, arrange]) => ({
  name: `a follower is blocked until the job before it ${what}, and runs then`,
  run: async (context) => {
    const { storage, claim, claimOne } = context
    const lease = await followed(context, { maxAttempts: what.includes('lease') ? 1 : 3 })
    assert.deepEqual(await claim(), [])
    await arrange(context, lease)
    assert.deepEqual(await statesOf(storage, follower), ['queued'])
    const job = await claimOne()
    assert.deepEqual([job.id, text(job.payload)], ['follower', 'two'])
  },
}))

const followCases: readonly Case[] = [
  {
    name: 'while the first waits, a second add is its duplicate',
    run: async (context) => {
      const { storage, claimOne, unit } = context
      await add(context, 'one', { id: 'first' })
      assert.deepEqual(shownOf(await add(context, 'two')), ['duplicate', 'first'])
      await retry(storage, await claimOne(), 500 * unit)
      assert.deepEqual(shownOf(await add(context, 'three')), ['duplicate', 'first'])
      assert.equal(text((await recordOf(storage, first, 'payload')).payload), 'one')
    },
  },
  {
    name: 'a follower shows the job that it waits for',
    run: async (context) => {
      const { storage } = context
      await followed(context)
      const { state, openBlockers, blockers, deduplicationKey } = await recordOf(storage, follower, 'blockers')
      assert.deepEqual([state, openBlockers, blockers, deduplicationKey], ['blocked', 1, [first], 'k'])
      assert.equal((await storage.get([{ type: 'mail', key: 'k' }]))[0]?.id, 'follower')
    },
  },
  {
    name: 'a third add replaces the payload of the follower, which stays one job',
    run: async (context) => {
      const { storage, claim } = context
      const lease = await followed(context)
      assert.deepEqual(shownOf(await add(context, 'three')), ['replaced', 'follower'])
      assert.deepEqual(shownOf(await add(context, 'four')), ['replaced', 'follower'])
      await complete(storage, lease)
      assert.deepEqual(
        (await claim()).map(({ id, payload }) => [id, text(payload)]),
        [['follower', 'four']],
      )
    },
  },
  {
    name: 'a follower that is due refuses the next add, and has a follower of its own once it runs',
    run: async (context) => {
      const { storage, claimOne } = context
      await complete(storage, await followed(context))
      assert.deepEqual(shownOf(await add(context, 'three')), ['duplicate', 'follower'])
      const lease = await claimOne()
      assert.deepEqual(shownOf(await add(context, 'four', { id: 'third' })), ['added', 'third'])
      assert.deepEqual(shownOf(await add(context, 'five')), ['replaced', 'third'])
      await complete(storage, lease)
      assert.equal(text((await claimOne()).payload), 'five')
    },
  },
  {
    name: 'a follower stays blocked while the first is released, retried and recovered',
    run: async (context) => {
      const { storage, claim, claimOne, advance, unit } = context
      const lease = await followed(context, { maxAttempts: 9 })
      await settleOne(storage, lease, { kind: 'released' })
      assert.deepEqual(shownOf(await add(context, 'three')), ['replaced', 'follower'])
      await retry(storage, await claimOne())
      await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
      await advance(2 * unit)
      await storage.recover({ types: ['mail'], limit: 10 })
      assert.deepEqual(shownOf(await add(context, 'four')), ['replaced', 'follower'])
      const again = await claimOne()
      assert.equal(again.id, 'first')
      assert.deepEqual(await claim(), [])
      await complete(storage, again)
      assert.equal((await claimOne()).id, 'follower')
    },
  },
  {
    name: 'a delayed follower is due at its own time, even if the first ends before',
    run: async (context) => {
      const { storage, claim, claimOne, advance, unit } = context
      await add(context, 'one', { id: 'first' })
      const lease = await claimOne()
      await add(context, 'two', { id: 'follower', delayMs: 20 * unit })
      await complete(storage, lease)
      assert.deepEqual(await statesOf(storage, follower), ['scheduled'])
      await advance(20 * unit)
      assert.deepEqual(idsOf(await claim()), ['follower'])
    },
  },
  {
    name: 'a follower of a chain waits for the end of the chain',
    run: async (context) => {
      const { storage, claim, claimOne, job } = context
      await add(context, 'one', { id: 'first' })
      await continueWith(storage, await claimOne(), job({ type: 'next' }))
      // The tail waits, but the chain has begun.
      assert.deepEqual(shownOf(await add(context, 'two', { id: 'follower' })), ['added', 'follower'])
      assert.deepEqual(await claim(), [])
      await runOne(context, 'next')
      assert.deepEqual(idsOf(await claim()), ['follower'])
    },
  },
  {
    name: 'a job that an outcome adds with the key of its own job runs after it',
    run: async (context) => {
      const { storage, claim, claimOne } = context
      await add(context, 'one', { id: 'first' })
      const { added } = await settleOne(storage, await claimOne(), {
        kind: 'completed',
        add: [following(context, 'two', { id: 'follower' })],
      })
      assert.equal(added[0]!.verdict, 'added')
      assert.deepEqual(idsOf(await claim()), ['follower'])
    },
  },
]

const goneCases: readonly Case[] = [
  {
    name: 'while the first runs and its follower was cancelled, the next add is a follower again',
    run: async (context) => {
      const { storage, claim } = context
      const lease = await followed(context)
      assert.deepEqual(await storage.cancel([follower]), [{ verdict: 'cancelled' }])
      assert.equal((await storage.get([{ type: 'mail', key: 'k' }]))[0]?.id, 'first')
      assert.deepEqual(shownOf(await add(context, 'three', { id: 'third' })), ['added', 'third'])
      assert.deepEqual(await claim(), [])
      await complete(storage, lease)
      assert.deepEqual(idsOf(await claim()), ['third'])
    },
  },
  {
    name: 'while the first runs and its follower expired or was removed, the next add is a follower again',
    run: async (context) => {
      const { storage, claim, claimOne, advance, unit } = context
      await add(context, 'one', { id: 'first' })
      const lease = await claimOne({ types: [{ type: 'mail', leaseMs: 500 * unit }] })
      await add(context, 'two', { id: 'follower', expiresInMs: 5 * unit })
      await advance(5 * unit)
      await storage.sweep({ limit: 100 })
      assert.deepEqual(await statesOf(storage, follower), ['cancelled'])
      await add(context, 'three', { id: 'third' })
      assert.deepEqual(await statesOf(storage, { type: 'mail', id: 'third' }), ['blocked'])
      await storage.remove([{ type: 'mail', id: 'third' }], { trees: true })
      assert.deepEqual(shownOf(await add(context, 'four', { id: 'fourth' })), ['added', 'fourth'])
      assert.deepEqual(await claim(), [])
      await complete(storage, lease)
      assert.deepEqual(idsOf(await claim()), ['fourth'])
    },
  },
  {
    name: 'a cancelled follower is revived only while no job holds its key',
    run: async (context) => {
      const { storage, claimOne } = context
      const lease = await followed(context)
      await storage.cancel([follower])
      assert.deepEqual(await storage.revive([follower]), [{ verdict: 'conflict' }])
      await complete(storage, lease)
      assert.deepEqual(await storage.revive([follower]), [{ verdict: 'revived' }])
      assert.deepEqual(shownOf(await add(context, 'three')), ['duplicate', 'follower'])
      assert.equal((await claimOne()).id, 'follower')
    },
  },
  {
    name: 'a job that has a follower is not removed, and its record is kept until the follower ends',
    run: async (context) => {
      const { storage, claimOne, advance, unit } = context
      const retention = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
      const lease = await followed(context, { retention })
      assert.deepEqual(await storage.remove([first], { trees: true }), [{ verdict: 'referenced', by: [follower] }])
      await fail(storage, lease)
      await storage.sweep({ limit: 100 })
      assert.deepEqual(await statesOf(storage, first, follower), ['failed', 'queued'])
      await complete(storage, await claimOne())
      await advance(unit)
      await storage.sweep({ limit: 100 })
      assert.deepEqual(await statesOf(storage, first), [undefined])
      assert.deepEqual(shownOf(await add(context, 'three', { id: 'third' })), ['added', 'third'])
      assert.deepEqual(idsOf([await claimOne()]), ['third'])
    },
  },
]

const repeatCases: readonly Case[] = [
  {
    name: 'repeats of the adds of a follower get the first answers and change nothing',
    run: async (context) => {
      const { storage, claimOne } = context
      await add(context, 'one', { id: 'first' })
      await claimOne()
      const [second, third] = [following(context, 'two', { id: 'follower' }), following(context, 'three')]
      assert.deepEqual(shownOf(await addOne(storage, second)), ['added', 'follower'])
      assert.deepEqual(shownOf(await addOne(storage, third)), ['replaced', 'follower'])
      const before = await snapshotOf(storage, first, follower, third)
      assert.deepEqual(shownOf(await addOne(storage, third)), ['replaced', 'follower'])
      assert.deepEqual(shownOf(await addOne(storage, second)), ['added', 'follower'])
      assert.deepEqual(await snapshotOf(storage, first, follower, third), before)
    },
  },
  {
    name: 'a batch adds one follower with the last payload, also in a repeat',
    run: async (context) => {
      const { storage, claimOne } = context
      await add(context, 'one', { id: 'first' })
      await claimOne()
      const batch = ['two', 'three', 'four'].map((payload, index) =>
        following(context, payload, { token: 't', ...(index === 0 && { id: 'follower' }) }),
      )
      for (let round = 0; round < 2; round++) {
        const verdicts = (await storage.add(batch)).map(shownOf)
        assert.deepEqual(verdicts, [
          ['added', 'follower'],
          ['replaced', 'follower'],
          ['replaced', 'follower'],
        ])
        assert.equal(text((await recordOf(storage, follower, 'payload')).payload), 'four')
      }
    },
  },
  {
    name: 'of many concurrent adds while the first runs, one follower is added',
    run: async (context) => {
      const { storage, another, claim, claimOne } = context
      await add(context, 'one', { id: 'first' })
      const lease = await claimOne()
      const handles = [storage, await another()]
      const verdicts = await Promise.all(
        Array.from({ length: 30 }, (_, index) => addOne(handles[index % 2]!, following(context, `p${index}`))),
      )
      const kinds = verdicts.map(({ verdict }) => verdict)
      assert.deepEqual([kinds.filter((kind) => kind === 'added').length, new Set(kinds).size], [1, 2])
      await complete(storage, lease)
      const [only, ...others] = await claim()
      assert.equal(others.length, 0)
      assert.notEqual(text(only!.payload), `p${kinds.indexOf('added')}`)
    },
  },
]

export const addFollowUpCases: readonly Case[] = [...followCases, ...endCases, ...goneCases, ...repeatCases].map(
  (item) => ({ ...item, proves: ['F25', 'S11'] }),
)
