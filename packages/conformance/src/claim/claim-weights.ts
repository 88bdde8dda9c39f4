// Weights: what a start takes of a rate. A heavy job is waited for, not overtaken.

import assert from 'node:assert/strict'
import type { Case } from '../case.ts'
import { recordOf } from '../records.ts'
import { claimWithin } from '../scenarios.ts'
import { addAll, claimIds, pass, perWindow } from './claim-rates.ts'

export const claimWeightCases: readonly Case[] = [
  {
    name: 'a job costs its weight, which its record and its claim show',
    proves: ['F22'],
    run: async (context) => {
      await addAll(context, [{ weight: 3 }, { weight: 2 }, {}])
      assert.equal((await recordOf(context.storage, { type: 'mail', id: '0' })).weight, 3)
      assert.equal((await recordOf(context.storage, { type: 'mail', id: '2' })).weight ?? 1, 1)
      const jobs = await claimWithin(context, { rate: perWindow(context, 5) })
      assert.deepEqual(
        jobs.map(({ weight = 1 }) => weight),
        [3, 2],
      )
    },
  },
  {
    name: 'without a rate, weights change nothing',
    proves: ['F22'],
    run: async (context) => {
      await addAll(context, [{ weight: 100 }, { weight: 1, group: { key: 'g' } }, { weight: 7, group: { key: 'g' } }])
      assert.equal((await context.claim()).length, 3)
    },
  },
  {
    name: 'a job that is too heavy for the rest of the window is waited for, not overtaken',
    proves: ['F22'],
    run: async (context) => {
      const limits = { rate: perWindow(context, 5) }
      await addAll(context, [{ weight: 3 }, { weight: 3 }, {}, {}])
      assert.deepEqual(await claimIds(context, limits), ['0'])
      assert.deepEqual(await claimIds(context, limits), [])
      await context.advance(context.unit)
      assert.deepEqual(await claimIds(context, limits), [])
      await pass(context)
      assert.deepEqual(await claimIds(context, limits), ['1', '2', '3'])
    },
  },
  {
    name: 'a job that is heavier than the limit starts alone in its window',
    proves: ['F22'],
    run: async (context) => {
      const limits = { rate: perWindow(context, 2) }
      await addAll(context, [{}, { weight: 50 }, {}])
      assert.deepEqual(await claimIds(context, limits), ['0'])
      await pass(context)
      assert.deepEqual(await claimIds(context, limits), ['1'])
      await pass(context)
      assert.deepEqual(await claimIds(context, limits), ['2'])
    },
  },
  {
    name: 'a heavy job of a group is waited for in its group; other groups go on',
    proves: ['F22'],
    run: async (context) => {
      const limits = { group: { rate: perWindow(context, 4) } }
      const [a, b] = [{ group: { key: 'a' } }, { group: { key: 'b' } }]
      await addAll(context, [
        { ...a, weight: 3 },
        { ...a, weight: 2 },
        { ...a, weight: 1 },
        { ...b, weight: 4 },
      ])
      assert.deepEqual((await claimIds(context, limits)).toSorted(), ['0', '3'])
      assert.deepEqual(await claimIds(context, limits), [])
      await pass(context)
      assert.deepEqual((await claimIds(context, limits)).toSorted(), ['1', '2'])
    },
  },
  {
    name: 'a weight that is no integer of at least 1 is refused',
    proves: ['F22'],
    run: async ({ storage, job }) => {
      for (const weight of [0, -1, 1.5, Number.NaN]) {
        await assert.rejects(storage.add([job({ weight })]), { code: 'INVALID_ARGUMENT' })
      }
    },
  },
]
