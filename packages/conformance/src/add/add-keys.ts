// The deduplication key: at most one job of a type per key, for exactly as long as its mode says.

import assert from 'node:assert/strict'
import type { AddVerdict, Deduplication } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, continueWith, fail, retry, settleOutcome } from '../outcomes.ts'
import { fenceOf, refOf, statesOf } from '../records.ts'
import { addOne } from '../scenarios.ts'

const simple: Deduplication = { key: 'k', mode: 'simple' }

/** Adds another job with the key. Returns undefined if it was added, else the job that holds the key. */
export async function second({ storage, job }: CaseContext, deduplication: Deduplication = simple) {
  const verdict: AddVerdict = await addOne(storage, job({ deduplication }))
  if (verdict.verdict === 'added') return undefined
  assert.ok(verdict.verdict === 'duplicate' && verdict.by === 'key')
  return verdict.job
}

/** Every end that frees the key of a job. */
const ends: readonly (readonly [string, (context: CaseContext) => Promise<unknown>])[] = [
  ['failed', async ({ storage, claimOne }) => fail(storage, await claimOne())],
  [
    'failed after its last attempt',
    async ({ storage, claimOne, advance, unit }) => {
      await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
      await advance(2 * unit)
      await storage.recover({ types: ['mail'], limit: 10 })
    },
  ],
  ['cancelled while it waits', async ({ storage }) => storage.cancel([{ type: 'mail', id: 'first' }])],
  [
    'cancelled by force',
    async ({ storage, claimOne }) => {
      await claimOne()
      await storage.cancel([{ type: 'mail', id: 'first' }], { force: true })
    },
  ],
  ['removed', async ({ storage }) => storage.remove([{ type: 'mail', id: 'first' }], { trees: true })],
]

const freeingCases: readonly Case[] = (
  [
    ['simple', { key: 'k', mode: 'simple' }],
    ['simple with a window', { key: 'k', mode: 'simple', windowMs: 1_000_000 }],
    ['throttle', { key: 'k', mode: 'throttle' }],
    ['throttle with a window', { key: 'k', mode: 'throttle', windowMs: 1_000_000 }],
  ] as const
).flatMap(([mode, deduplication]) =>
  ends
    // A window outlives its job.
    .filter(([end]) => end !== 'removed' || mode !== 'throttle with a window')
    .map(([end, arrange]): Case => ({
      name: `a job that is ${end} frees its ${mode} key at once`,
      proves: ['F25', 'S11', 'S20'],
      run: async (context) => {
        await context.added({ id: 'first', deduplication, maxAttempts: 1 })
        assert.equal((await second(context, deduplication))?.id, 'first')
        await arrange(context)
        assert.equal(await second(context, deduplication), undefined)
      },
    })),
)

const simpleCases: readonly Case[] = [
  {
    name: 'a live job in any state holds its key, and a second add names that job',
    proves: ['F25', 'S11'],
    run: async (context) => {
      const { storage, added, claimOne, unit } = context
      const first = await added({ deduplication: simple, delayMs: 0 })
      const holderState = async () => {
        const standing = await second(context)
        assert.deepEqual([standing?.id, standing?.token], [first.id, first.token])
        return standing?.state
      }
      assert.equal(await holderState(), 'queued')
      const lease = await claimOne()
      assert.equal(await holderState(), 'processing')
      await retry(storage, lease, 500 * unit)
      assert.equal(await holderState(), 'failing')
    },
  },
  {
    name: 'a duplicate by key adds nothing, and its own id stays free',
    proves: ['S11'],
    run: async ({ storage, added, job }) => {
      await added({ deduplication: simple })
      const refused = job({ id: 'mine', deduplication: simple })
      await addOne(storage, refused)
      assert.deepEqual(await statesOf(storage, refused), [undefined])
      await added({ id: 'mine' })
    },
  },
  {
    name: 'a simple key is free once its job has completed, although its record and id stay',
    proves: ['F25'],
    run: async (context) => {
      const { storage, added, claimOne } = context
      const first = await added({ deduplication: simple })
      await complete(storage, await claimOne())
      assert.equal(await second(context), undefined)
      assert.deepEqual(await statesOf(storage, first), ['completed'])
    },
  },
  {
    name: 'a key is kept through retries, releases, snoozes and lost leases',
    proves: ['F25', 'W4'],
    run: async (context) => {
      const { storage, added, claimOne, advance, unit } = context
      await added({ id: 'first', deduplication: simple, maxAttempts: 9 })
      await retry(storage, await claimOne())
      assert.equal((await second(context))?.id, 'first')
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'released' })
      assert.equal((await second(context))?.id, 'first')
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'released', delayMs: 0 })
      assert.equal((await second(context))?.id, 'first')
      await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
      await advance(2 * unit)
      await storage.recover({ types: ['mail'], limit: 10 })
      assert.equal((await second(context))?.id, 'first')
    },
  },
  {
    name: 'of two jobs with one key in a batch, the first is added and the second is its duplicate',
    proves: ['F25', 'F3', 'chains trap 3'],
    run: async ({ storage, job }) => {
      const first = job({ token: 't', deduplication: simple })
      const verdicts = await storage.add([first, job({ token: 't', deduplication: simple })])
      assert.equal(verdicts[0]!.verdict, 'added')
      assert.ok(verdicts[1]!.verdict === 'duplicate' && verdicts[1]!.job.id === first.id)
    },
  },
  {
    name: 'a key belongs to its type',
    proves: ['F25', 'W1'],
    run: async ({ added }) => {
      await added({ deduplication: simple })
      await added({ type: 'post', deduplication: simple })
    },
  },
  {
    name: 'another key of the type is free',
    proves: ['F25'],
    run: async ({ added }) => {
      await added({ deduplication: simple })
      await added({ deduplication: { key: 'K', mode: 'simple' } })
    },
  },
  {
    name: 'of many concurrent adds under one key exactly one succeeds, and the others name its job',
    proves: ['S11', 'F25', 'chains trap 3'],
    run: async ({ storage, another, job }) => {
      const handles = [storage, await another()]
      const verdicts = await Promise.all(
        Array.from({ length: 30 }, (_, index) => addOne(handles[index % 2]!, job({ deduplication: simple }))),
      )
      assert.equal(verdicts.filter((verdict) => verdict.verdict === 'added').length, 1)
      assert.equal(new Set(verdicts.map((verdict) => 'job' in verdict && verdict.job.id)).size, 1)
    },
  },
  {
    name: 'a job that is refused because of its blocker takes no key',
    proves: ['F25', 'S3'],
    run: async (context) => {
      const { storage, job } = context
      await addOne(storage, job({ deduplication: simple, blockers: [{ type: 'mail', id: 'unknown' }] }))
      assert.equal(await second(context), undefined)
    },
  },
  {
    name: 'a dependent that fails with its blocker frees its key',
    proves: ['F25', 'S13'],
    run: async (context) => {
      const { storage, added, claimOne } = context
      const blocker = await added({ maxAttempts: 1 })
      await added({ deduplication: simple, blockers: [refOf(blocker)] })
      assert.equal((await second(context))?.state, 'blocked')
      await fail(storage, await claimOne())
      assert.equal(await second(context), undefined)
    },
  },
]

const chainCases: readonly Case[] = [
  {
    name: 'a chain holds the key of its first job until the chain ends',
    proves: ['F25', 'S13'],
    run: async (context) => {
      const { storage, added, job, claimOne } = context
      const first = await added({ deduplication: simple })
      await continueWith(storage, await claimOne(), job())
      const standing = await second(context)
      assert.deepEqual([standing?.id, standing?.token, standing?.state], [first.id, first.token, 'queued'])
      await complete(storage, await claimOne())
      assert.equal(await second(context), undefined)
    },
  },
  {
    name: 'a chain that fails at a later job frees the key of its first job',
    proves: ['F25', 'S20'],
    run: async (context) => {
      const { storage, added, job, claimOne } = context
      const deduplication: Deduplication = { key: 'k', mode: 'throttle', windowMs: 1_000_000 }
      await added({ deduplication })
      await continueWith(storage, await claimOne(), job())
      assert.ok(await second(context, deduplication))
      await fail(storage, await claimOne())
      assert.equal(await second(context, deduplication), undefined)
    },
  },
]

export const addKeyCases: readonly Case[] = [...simpleCases, ...freeingCases, ...chainCases]
