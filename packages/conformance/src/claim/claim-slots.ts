// Slots of a claim: never more jobs than asked for, and types served in turn.

import assert from 'node:assert/strict'
import type { Case } from '../case.ts'

export const claimSlotCases: readonly Case[] = [
  {
    name: 'a claim yields no more jobs than its slots',
    proves: ['S16'],
    run: async ({ storage, job, claim }) => {
      await storage.add([job(), job(), job()])
      assert.deepEqual(await claim({ slots: 0 }), [])
      assert.equal((await claim({ slots: 2 })).length, 2)
      assert.equal((await claim({ slots: 2 })).length, 1)
    },
  },
  {
    name: 'a type yields no more jobs than its own slots, and other types get the rest',
    proves: ['S16'],
    run: async ({ storage, job, claim, unit }) => {
      await storage.add(Array.from({ length: 5 }, () => job({ type: 'a' })))
      await storage.add(Array.from({ length: 5 }, () => job({ type: 'b' })))
      const claimed = await claim({
        slots: 5,
        types: [
          { type: 'a', leaseMs: 10 * unit, slots: 1 },
          { type: 'b', leaseMs: 10 * unit },
        ],
      })
      assert.deepEqual(claimed.map(({ type }) => type).toSorted(), ['a', 'b', 'b', 'b', 'b'])
    },
  },
  ...(
    [
      ['one slot goes to the first type that has a due job', 1, ['a']],
      ['two slots go to two types when both have a due job', 2, ['a', 'b']],
      ['a third slot goes to the first type again', 3, ['a', 'a', 'b']],
      ['a type without jobs leaves its turns to the others', 5, ['a', 'a', 'a', 'a', 'b']],
    ] as const
  ).map(([name, slots, expected]): Case => ({
    name: `types in turns: ${name}`,
    proves: ['F2', 'L6'],
    run: async ({ storage, job, claim, unit }) => {
      const [a, b] = [{ type: 'a' }, { type: 'b', priority: 100 }]
      await storage.add([job(a), job(a), job(a), job(a), job(b)])
      const types = ['none', 'a', 'b'].map((type) => ({ type, leaseMs: 10 * unit }))
      assert.deepEqual((await claim({ slots, types })).map(({ type }) => type).toSorted(), expected)
    },
  })),
]
