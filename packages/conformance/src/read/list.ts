// list: filters, order, and pages that neither repeat nor skip rows.

import assert from 'node:assert/strict'
import type { JobRecord, ListQuery, Storage } from 'holdfast/storage'
import { text, bytes } from '../case.ts'
import type { Case } from '../case.ts'
import { listPageCases } from './list-pages.ts'
import { findRecord, idsOf, jobStates, refOf } from '../records.ts'
import { chainOfTwo, inState, runOne, treeOfTwo } from '../scenarios.ts'
import { listSearchCases } from './list-search.ts'
import { listPlaceCases } from './list-place.ts'

const list = async (storage: Storage, query: Partial<ListQuery> = {}): Promise<readonly JobRecord[]> =>
  (await storage.list({ of: 'jobs', order: 'asc', limit: 100, ...query })).items
const listIds = async (storage: Storage, query?: Partial<ListQuery>) => idsOf(await list(storage, query))

const filterCases: readonly Case[] = [
  {
    name: 'an empty storage has one empty page',
    run: async ({ storage }) => {
      for (const what of ['jobs', 'chains'] as const) {
        const { items, nextCursor } = await storage.list({ of: what, limit: 10 })
        assert.deepEqual([items, nextCursor], [[], undefined])
      }
    },
  },
  {
    name: 'jobs are listed by createdAt, newest first by default',
    run: async ({ storage, added, advance, unit }) => {
      const ids = []
      for (const id of ['m', 'z', 'a']) {
        ids.push((await added({ id })).id)
        await advance(unit)
      }
      assert.deepEqual(idsOf((await storage.list({ of: 'jobs', limit: 10 })).items), ids.toReversed())
      assert.deepEqual(await listIds(storage, { order: 'desc' }), ids.toReversed())
      assert.deepEqual(await listIds(storage, { order: 'asc' }), ids)
    },
  },
  {
    name: 'jobs of one instant are listed by type, then id, by character code',
    run: async ({ storage, job }) => {
      const sorted = [
        { type: 'B', id: 'b' },
        { type: 'a', id: '10' },
        { type: 'a', id: '9' },
        { type: 'a', id: 'A b' },
        { type: 'a', id: 'Ab' },
        { type: 'a', id: 'a' },
        { type: 'a-b', id: '0' },
      ]
      await storage.add(sorted.toReversed().map((ref) => job({ ...ref, token: 't' })))
      assert.deepEqual((await list(storage)).map(refOf), sorted)
      assert.deepEqual((await list(storage, { order: 'desc' })).map(refOf), sorted.toReversed())
    },
  },
  {
    name: 'a list can be filtered by one or several types, of jobs and of chains',
    run: async ({ storage, added }) => {
      const [a, b] = [await added({ type: 'a' }), await added({ type: 'b' })]
      await added({ type: 'c' })
      for (const what of ['jobs', 'chains'] as const) {
        assert.deepEqual(await listIds(storage, { of: what, types: ['b'] }), [b.id])
        assert.deepEqual(
          (await listIds(storage, { of: what, types: ['a', 'b', 'nothing'] })).toSorted(),
          idsOf([a, b]).toSorted(),
        )
        assert.deepEqual(await listIds(storage, { of: what, types: ['nothing'] }), [])
      }
    },
  },
  {
    name: 'a type or state named twice lists its jobs once',
    run: async ({ storage, added }) => {
      const { id } = await added()
      assert.deepEqual(await listIds(storage, { types: ['mail', 'mail'] }), [id])
      assert.deepEqual(await listIds(storage, { states: ['queued', 'queued'] }), [id])
    },
  },
  ...jobStates.map((state): Case => ({
    name: `a list of state ${state} has exactly the jobs and chains in that state`,
    run: async (context) => {
      const { storage } = context
      for (const other of jobStates) if (other !== state) await inState(context, other, { type: `is ${other}` })
      const job = await inState(context, state, { type: `is ${state}` })
      for (const what of ['jobs', 'chains'] as const) {
        const found = await list(storage, { of: what, states: [state] })
        // The blockers wait in a type of their own.
        assert.deepEqual(idsOf(found.filter(({ type }) => type !== 'open blocker')), [job.id])
      }
      const other = state === 'failed' ? 'completed' : 'failed'
      const two = await list(storage, { states: [state, other], types: [`is ${state}`, `is ${other}`] })
      assert.deepEqual(new Set(two.map((record) => record.state)), new Set([state, other]))
    },
  })),
  {
    name: 'a scheduled job that is due is listed as queued',
    run: async ({ storage, added, advance, unit }) => {
      const job = await added({ delayMs: 10 * unit })
      assert.deepEqual(await listIds(storage, { states: ['queued'] }), [])
      await advance(10 * unit)
      assert.deepEqual(await listIds(storage, { states: ['queued'] }), [job.id])
      assert.deepEqual(await listIds(storage, { states: ['scheduled'] }), [])
      assert.equal((await list(storage))[0]!.state, 'queued')
    },
  },
  {
    name: 'createdFrom and createdTo bound the list',
    run: async ({ storage, added, advance, unit }) => {
      const jobs = []
      for (let count = 0; count < 4; count++) {
        jobs.push(await added())
        await advance(2 * unit)
      }
      const createdFrom = (await findRecord(storage, jobs[0]!))!.createdAt + unit
      const createdTo = (await findRecord(storage, jobs[2]!))!.createdAt + unit
      assert.deepEqual(await listIds(storage, { createdFrom }), idsOf(jobs.slice(1)))
      assert.deepEqual(await listIds(storage, { createdTo }), idsOf(jobs.slice(0, 3)))
      assert.deepEqual(await listIds(storage, { createdFrom, createdTo, of: 'chains' }), idsOf(jobs.slice(1, 3)))
    },
  },
  {
    name: 'createdFrom is inclusive',
    run: async ({ storage, added }) => {
      const job = await added()
      const createdFrom = (await findRecord(storage, job))!.createdAt
      assert.deepEqual(await listIds(storage, { createdFrom }), [job.id])
      assert.deepEqual(await listIds(storage, { createdFrom: createdFrom + 1 }), [])
    },
  },
  {
    name: 'expired records are not listed, swept or not',
    run: async (context) => {
      const { storage, advance, unit } = context
      await inState(context, 'completed', { retention: { completedMs: 10 * unit, failedMs: 0, cancelledMs: 0 } })
      const live = await inState(context, 'queued')
      await advance(10 * unit)
      for (const what of ['jobs', 'chains'] as const) assert.deepEqual(await listIds(storage, { of: what }), [live.id])
    },
  },
  {
    name: 'parts are present only if asked for',
    run: async ({ storage, added }) => {
      await added({ payload: bytes('p') })
      assert.equal((await list(storage))[0]!.payload, undefined)
      const [record] = await list(storage, { parts: ['payload', 'attempts'] })
      assert.deepEqual([text(record!.payload), record!.attempts], ['p', []])
    },
  },
  ...([undefined, 'workers'] as const).map((of): Case => ({
    name: `a list of ${of} is refused as an invalid argument`,
    run: async ({ storage }) => {
      const expected = { name: 'TypeError', code: 'INVALID_ARGUMENT' }
      await assert.rejects(storage.list({ of: of as unknown as 'jobs', limit: 10 }), expected)
    },
  })),
]

const chainCases: readonly Case[] = [
  {
    name: 'a list of chains has the first jobs, each with the state of its tail',
    run: async (context) => {
      const { storage } = context
      const { first, next } = await chainOfTwo(context)
      const [record, ...others] = await list(storage, { of: 'chains' })
      assert.deepEqual([record!.id, record!.state, record!.tail!.id, others], [first.id, 'completed', next.id, []])
      assert.deepEqual(await listIds(storage, { of: 'chains', states: ['queued'] }), [first.id])
      assert.deepEqual(await listIds(storage, { of: 'chains', states: ['completed'] }), [])
      assert.deepEqual(await listIds(storage, { of: 'jobs', states: ['completed'] }), [first.id])
      await runOne(context, 'next', 'r')
      const [ended] = await list(storage, { of: 'chains', states: ['completed'], parts: ['result'] })
      assert.equal(text(ended!.tail!.result), 'r')
    },
  },
  {
    name: 'a list of chains is filtered by the type of the first jobs',
    run: async (context) => {
      const { storage } = context
      const { first, next } = await chainOfTwo(context)
      assert.deepEqual(await listIds(storage, { of: 'chains', types: ['mail'] }), [first.id])
      assert.deepEqual(await listIds(storage, { of: 'chains', types: ['next'] }), [])
      assert.deepEqual(await listIds(storage, { of: 'jobs', types: ['next'] }), [next.id])
    },
  },
  {
    name: 'the jobs of one chain can be listed',
    run: async (context) => {
      const { storage } = context
      const { first, next } = await chainOfTwo(context)
      await chainOfTwo(context)
      assert.deepEqual((await listIds(storage, { chain: refOf(first) })).toSorted(), idsOf([first, next]).toSorted())
      assert.deepEqual(await listIds(storage, { chain: refOf(first), states: ['queued'] }), [next.id])
      assert.deepEqual(await listIds(storage, { chain: { type: 'sms', id: first.id } }), [])
    },
  },
  {
    name: 'rootOnly leaves out exactly the chains started as blockers',
    run: async (context) => {
      const { storage, added } = context
      const { root, child } = await treeOfTwo(context, { root: { id: 'same' }, child: { id: 'same' } })
      const existing = await added()
      const dependent = await added({ blockers: [refOf(existing)] })
      const roots = idsOf([root, existing, dependent]).toSorted()
      assert.deepEqual((await listIds(storage, { of: 'chains', rootOnly: true })).toSorted(), roots)
      const all = await list(storage, { of: 'chains' })
      assert.ok(all.some(({ type }) => type === child.type))
    },
  },
]

export const listCases: readonly Case[] = [
  ...filterCases,
  ...chainCases,
  ...listPageCases,
  ...listSearchCases,
  ...listPlaceCases,
]
