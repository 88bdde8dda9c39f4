// The id: one live or completed chain per (type, id). A duplicate names that chain, and a new life inherits nothing.

import assert from 'node:assert/strict'
import type { AddVerdict, JobState, NewJob } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case, CaseContext } from '../case.ts'
import { addNewLifeCases } from './add-new-lives.ts'
import { complete, continueWith, fail, retry } from '../outcomes.ts'
import { recordOf, refOf, snapshotOf, statesOf } from '../records.ts'
import { addOne } from '../scenarios.ts'

const duplicateById = (verdict: AddVerdict | undefined): Extract<AddVerdict, { verdict: 'duplicate' }> => {
  assert.equal(verdict?.verdict, 'duplicate')
  assert.equal(verdict.by, 'id')
  return verdict
}

const live: readonly (readonly [JobState, (context: CaseContext) => Promise<NewJob>])[] = [
  ['queued', ({ added }) => added({ payload: bytes('first') })],
  ['scheduled', ({ added, unit }) => added({ payload: bytes('first'), delayMs: 500 * unit })],
  [
    'blocked',
    async ({ added }) => added({ payload: bytes('first'), blockers: [refOf(await added({ type: 'other' }))] }),
  ],
  [
    'processing',
    async ({ added, claimOne }) => {
      const job = await added({ payload: bytes('first') })
      await claimOne()
      return job
    },
  ],
  [
    'failing',
    async ({ storage, added, claimOne, unit }) => {
      const job = await added({ payload: bytes('first') })
      await retry(storage, await claimOne(), 500 * unit)
      return job
    },
  ],
]

const liveCases: readonly Case[] = live.map(([state, arrange]) => ({
  name: `the id of a ${state} job is taken: a second add names the first job and changes nothing`,
  proves: ['S11', 'S2'],
  run: async (context) => {
    const { storage, job } = context
    const first = await arrange(context)
    const before = await snapshotOf(storage, first)
    const verdict = await addOne(
      storage,
      job({ id: first.id, payload: bytes('second'), priority: 50, maxAttempts: 50 }),
    )
    const { job: standing } = duplicateById(verdict)
    assert.deepEqual(
      [standing.type, standing.id, standing.token, standing.state],
      [first.type, first.id, first.token, state],
    )
    assert.deepEqual(await snapshotOf(storage, first), before)
  },
}))

/** Ids whose order differs by bytes, by UTF-16 code units and by code points. */
const orders: readonly (readonly [what: string, there: readonly string[], others: readonly string[]])[] = [
  ['between the new ones', ['b', 'd'], ['a', 'c', 'e']],
  ['after the new ones', ['x', 'y'], ['a', 'b']],
  ['before the new ones', ['a', 'b'], ['x', 'y', 'é', '\u{ffee}', '\u{1f600}']],
  ['outside ASCII', ['\u{1f600}', '\u{ffee}'], ['z', 'é', '\u{1f601}', 'ê']],
]

const batchCases: readonly Case[] = orders.map(([what, there, others]) => ({
  name: `in one batch, jobs with existing ids are duplicates and the others are added: ids ${what}`,
  proves: ['S11'],
  run: async ({ storage, added, job }) => {
    for (const id of there) await added({ id })
    const ids = [...others, ...there, ...others.map((id) => `${id}~`)]
    const verdicts = await storage.add(ids.map((id) => job({ id })))
    assert.deepEqual(
      verdicts.map(({ verdict }) => verdict),
      ids.map((id) => (there.includes(id) ? 'duplicate' : 'added')),
    )
  },
}))

const completedCases: readonly Case[] = [
  {
    name: 'the id of a completed job is taken, and the duplicate carries its result',
    proves: ['S11', 'S12'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added()
      await complete(storage, await claimOne(), 'done')
      const { job: standing } = duplicateById(await addOne(storage, job({ id: first.id })))
      assert.deepEqual([standing.token, standing.state, text(standing.result)], [first.token, 'completed', 'done'])
    },
  },
  {
    name: 'a duplicate distinguishes a result of zero bytes from no result',
    proves: ['trap 1', 'S12'],
    run: async ({ storage, added, job, claimOne }) => {
      for (const result of [undefined, '']) {
        const first = await added()
        await complete(storage, await claimOne(), result)
        const { job: standing } = duplicateById(await addOne(storage, job({ id: first.id })))
        assert.deepEqual([standing.state, text(standing.result)], ['completed', result])
      }
    },
  },
  {
    name: 'the id of a completed job is free once its record has expired, swept or not',
    proves: ['S11', 'S12', 'trap 26'],
    run: async ({ storage, added, job, claimOne, advance, unit }) => {
      const retention = { completedMs: 5 * unit, failedMs: 0, cancelledMs: 0 }
      const first = await added({ retention, payload: bytes('old') })
      await complete(storage, await claimOne(), 'done')
      await advance(5 * unit)
      const second = job({ id: first.id, payload: bytes('new') })
      assert.equal((await addOne(storage, second)).verdict, 'added')
      const claimed = await claimOne()
      assert.deepEqual([claimed.token, claimed.attempt, text(claimed.payload)], [second.token, 1, 'new'])
      assert.equal((await recordOf(storage, first, 'result')).result, undefined)
    },
  },
  {
    name: 'the id of a completed job that is kept for 0 ms is free at once',
    proves: ['S11'],
    run: async ({ storage, added, claimOne }) => {
      const { id } = await added({ retention: { completedMs: 0, failedMs: 0, cancelledMs: 0 } })
      await complete(storage, await claimOne(), 'done')
      await added({ id })
      assert.equal((await claimOne()).attempt, 1)
    },
  },
]

const otherCases: readonly Case[] = [
  {
    name: 'one id under two types is two jobs',
    proves: ['S24'],
    run: async ({ storage, added, claimOne }) => {
      const mail = await added({ id: 'same', payload: bytes('mail') })
      const post = await added({ id: 'same', type: 'post', payload: bytes('post') })
      await complete(storage, await claimOne(), 'done')
      assert.deepEqual(await statesOf(storage, mail, post), ['completed', 'queued'])
      assert.equal(text((await recordOf(storage, post, 'payload')).payload), 'post')
    },
  },
  {
    name: 'of two jobs with one id in a batch, the first is added and the second is its duplicate',
    proves: ['S11', 'F3'],
    run: async ({ storage, job }) => {
      const [first, second] = [job({ id: 'same', payload: bytes('1') }), job({ id: 'same', payload: bytes('2') })]
      const verdicts = await storage.add([first, second])
      assert.equal(verdicts[0]!.verdict, 'added')
      assert.equal(duplicateById(verdicts[1]).job.token, first.token)
      assert.equal(text((await recordOf(storage, first, 'payload')).payload), '1')
    },
  },
  {
    name: 'one call that names an id twice adds one job, and the second item is its duplicate',
    proves: ['F3', 'S3'],
    run: async ({ storage, job }) => {
      const batch = [
        job({ id: 'same', token: 't', payload: bytes('1') }),
        job({ id: 'same', token: 't', payload: bytes('2') }),
      ]
      const verdicts = await storage.add(batch)
      assert.deepEqual([verdicts[0]!.verdict, verdicts[1]!.verdict], ['added', 'duplicate'])
      assert.equal(text((await recordOf(storage, batch[0]!, 'payload')).payload), '1')
    },
  },
  {
    name: 'of many concurrent adds of one id exactly one succeeds',
    proves: ['S11', 'trap 40', 'R3'],
    run: async ({ storage, another, job, claim }) => {
      const handles = [storage, await another()]
      const verdicts = await Promise.all(
        Array.from({ length: 30 }, (_, index) => addOne(handles[index % 2]!, job({ id: 'same' }))),
      )
      assert.equal(verdicts.filter((verdict) => verdict.verdict === 'added').length, 1)
      const tokens = new Set(verdicts.map((verdict) => 'job' in verdict && verdict.job.token))
      assert.equal(tokens.size, 1)
      assert.equal((await claim()).length, 1)
    },
  },
  {
    name: 'a duplicate takes neither a key nor a place in a group',
    proves: ['S11', 'F21'],
    run: async ({ storage, added, job, claim }) => {
      const { id } = await added()
      const deduplication = { key: 'k', mode: 'simple' } as const
      duplicateById(await addOne(storage, job({ id, deduplication, group: { key: 'g', ordered: true } })))
      await added({ deduplication })
      await added({ group: { key: 'g', ordered: true } })
      assert.equal((await claim()).length, 3)
    },
  },
]

const chainCases: readonly Case[] = [
  {
    name: 'the id of a live chain is taken, and the duplicate has the state of its tail',
    proves: ['S11', 'S13'],
    run: async ({ storage, added, job, claimOne, unit }) => {
      const first = await added()
      await continueWith(storage, await claimOne(), job({ id: 'next', delayMs: 500 * unit }))
      const { job: standing } = duplicateById(await addOne(storage, job({ id: first.id })))
      assert.deepEqual([standing.id, standing.token, standing.state], [first.id, first.token, 'scheduled'])
    },
  },
  {
    name: 'the id of a completed chain is taken, and the duplicate carries the result of its tail',
    proves: ['S11', 'S12'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added()
      await continueWith(storage, await claimOne(), job({ id: 'next' }))
      await complete(storage, await claimOne(), 'of the tail')
      const { job: standing } = duplicateById(await addOne(storage, job({ id: first.id })))
      assert.deepEqual([standing.state, text(standing.result)], ['completed', 'of the tail'])
    },
  },
  {
    name: 'the id of a continuation is taken',
    proves: ['S11'],
    run: async ({ storage, added, job, claimOne }) => {
      await added()
      await continueWith(storage, await claimOne(), job({ id: 'next' }))
      assert.equal(duplicateById(await addOne(storage, job({ id: 'next' }))).job.state, 'queued')
      await complete(storage, await claimOne(), 'done')
      assert.equal(duplicateById(await addOne(storage, job({ id: 'next' }))).job.state, 'completed')
    },
  },
  {
    name: 'the id of a chain whose tail failed is free at once, although its first job completed',
    proves: ['S11'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added()
      await continueWith(storage, await claimOne(), job({ id: 'next' }))
      await fail(storage, await claimOne())
      const second = await added({ id: first.id })
      const record = await recordOf(storage, second, 'tail')
      assert.deepEqual(
        [record.token, record.state, record.attempt, record.tail?.id],
        [second.token, 'queued', 0, first.id],
      )
    },
  },
  {
    name: 'the id of a continuation that failed is free at once',
    proves: ['S11'],
    run: async ({ storage, added, job, claimOne }) => {
      await added()
      await continueWith(storage, await claimOne(), job({ id: 'next' }))
      await fail(storage, await claimOne())
      const second = await added({ id: 'next' })
      const record = await recordOf(storage, second)
      assert.deepEqual([record.token, record.state, record.chainIndex], [second.token, 'queued', 0])
    },
  },
]

export const addIdCases: readonly Case[] = [
  ...liveCases,
  ...batchCases,
  ...completedCases,
  ...addNewLifeCases,
  ...otherCases,
  ...chainCases,
]
