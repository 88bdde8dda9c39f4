// list by place: the storage's own order, with bounded work per page. Every job that stays where it is, is listed once.

import assert from 'node:assert/strict'
import type { ListQuery } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { jobStates } from '../records.ts'
import { chainOfTwo, inState } from '../scenarios.ts'

/** Reads all pages. A page may be empty and still have a cursor. */
async function listed({ storage }: CaseContext, query: Partial<ListQuery>, limit = 2): Promise<string[]> {
  const seen: string[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < 1_000; pages++) {
    const given = { of: 'jobs', by: 'place', limit, ...query, ...(cursor !== undefined && { cursor }) } as const
    const page = await storage.list(given)
    assert.ok(page.items.length <= limit)
    seen.push(...page.items.map(({ type, id }) => `${type}/${id}`))
    cursor = page.nextCursor
    if (cursor === undefined) return seen
  }
  throw new Error('expected the pages to end')
}

async function addInEveryState(context: CaseContext): Promise<string[]> {
  const names: string[] = []
  for (const type of ['t1', 't2']) {
    for (const state of jobStates) {
      const { id } = await inState(context, state, { id: state, type: `${type} ${state}` })
      names.push(`${type} ${state}/${id}`)
    }
  }
  return names
}

export const listPlaceCases: readonly Case[] = [
  ...(['asc', 'desc'] as const).map((order): Case => ({
    name: `by place, ${order}: every job of every type and state is listed once, over pages`,
    proves: ['F31'],
    run: async (context) => {
      const names = await addInEveryState(context)
      // The blockers of the blocked jobs.
      names.push(
        ...(await context.storage.list({ of: 'jobs', types: ['open blocker'], limit: 10 })).items.map(
          ({ type, id }) => `${type}/${id}`,
        ),
      )
      assert.deepEqual((await listed(context, { order })).toSorted(), names.toSorted())
    },
  })),
  ...(['asc', 'desc'] as const).map((order): Case => ({
    name: `by place, ${order}: of more types than a page looks at, every job is listed once`,
    proves: ['F31'],
    run: async (context) => {
      const jobs = Array.from({ length: 230 }, (_, n) => ({
        type: `t${n}`,
        id: `j${n}`,
        token: 'many',
        retention: { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 },
        search: { n },
        ...(n % 50 === 0 && { group: { key: 'g' } }),
      }))
      await context.storage.add(jobs)
      const names = jobs.map(({ type, id }) => `${type}/${id}`)
      // Every job has a type of its own, so a page of any size ends between two types.
      assert.deepEqual((await listed(context, { order }, 20)).toSorted(), names.toSorted())
      const types = jobs.map(({ type }) => type)
      assert.deepEqual((await listed(context, { order, types }, 20)).toSorted(), names.toSorted())
      assert.deepEqual((await listed(context, { order, group: 'g' })).toSorted(), [
        't0/j0',
        't100/j100',
        't150/j150',
        't200/j200',
        't50/j50',
      ])
      const where = { n: [3, 170] }
      const found = ['t170/j170', 't3/j3']
      assert.deepEqual((await listed(context, { order, where })).toSorted(), found)
      assert.deepEqual((await listed(context, { order, where, states: ['queued'] })).toSorted(), found)
      assert.deepEqual(await listed(context, { order, where, states: ['failed'] }), [])
    },
  })),
  {
    name: 'by place: filters by type and state find the same jobs as by creation',
    proves: ['F31'],
    run: async (context) => {
      await addInEveryState(context)
      const types = ['t1 queued', 't1 failed', 't1 completed', 't2 failed', 't2 processing', 't1 failing']
      for (const states of [...jobStates.map((state) => [state]), ['failed', 'queued'] as const, undefined]) {
        const query = { types, ...(states && { states }) }
        const { items } = await context.storage.list({ of: 'jobs', limit: 100, ...query })
        const expected = items.map(({ type, id }) => `${type}/${id}`).toSorted()
        assert.deepEqual((await listed(context, query)).toSorted(), expected, String(states))
      }
    },
  },
  {
    name: 'by place: many jobs of one state are listed over many pages, each once, in both orders',
    proves: ['F31'],
    run: async (context) => {
      const { storage, job } = context
      for (const state of ['queued', 'failed'] as const) {
        const jobs = Array.from({ length: 25 }, (_, index) => job({ type: state, id: `${index}`, priority: index % 3 }))
        await storage.add(jobs)
        if (state === 'failed') {
          const types = [{ type: state, leaseMs: 10 * context.unit }]
          const leases = await context.claim({ types })
          await storage.settle(
            leases.map(({ type, id, worker, attempt }) => ({ type, id, worker, attempt, kind: 'failed' })),
          )
        }
        const expected = jobs.map(({ id }) => `${state}/${id}`).toSorted()
        for (const order of ['asc', 'desc'] as const) {
          assert.deepEqual((await listed(context, { types: [state], states: [state], order })).toSorted(), expected)
        }
      }
    },
  },
  {
    name: 'by place: the jobs inside a chain are listed, too',
    proves: ['F31'],
    run: async (context) => {
      const { first, next } = await chainOfTwo(context)
      const names = [first, next].map(({ type, id }) => `${type}/${id}`)
      assert.deepEqual((await listed(context, {})).toSorted(), names.toSorted())
    },
  },
  {
    name: 'by place: a cursor that is none is refused',
    proves: ['F31'],
    run: async ({ storage }) => {
      for (const cursor of [
        '',
        'x',
        Buffer.from('[]').toString('base64url'),
        Buffer.from('{"a":1}').toString('base64url'),
      ]) {
        await assert.rejects(storage.list({ of: 'jobs', by: 'place', cursor, limit: 10 }), { code: 'INVALID_ARGUMENT' })
      }
    },
  },
]
