// onBlockerFailure `run`: the job runs once its blockers have ended, whatever they ended in.

import assert from 'node:assert/strict'
import type { Case, CaseContext } from '../case.ts'
import { text } from '../case.ts'
import { complete, fail } from '../outcomes.ts'
import { recordOf, refOf, statesOf } from '../records.ts'
import { claimType, inState, runOne } from '../scenarios.ts'

/** Two blockers of types `one` and `two`, and a job of type `mail` that they block. */
async function blocked({ added }: CaseContext) {
  const [one, two] = [await added({ type: 'one' }), await added({ type: 'two' })]
  return { one, two, job: await added({ blockers: [refOf(one), refOf(two)], onBlockerFailure: 'run' }) }
}

export const addRunBlockerCases: readonly Case[] = [
  {
    name: 'a job runs after one blocker failed and the other completed, with the result of that one',
    proves: ['S13'],
    run: async (context) => {
      const { storage, claimOne } = context
      const { one, job } = await blocked(context)
      await fail(storage, await claimType(context, 'one'))
      const { state, openBlockers } = await recordOf(storage, job)
      assert.deepEqual([state, openBlockers], ['blocked', 1])
      const { unblocked } = await complete(storage, await claimType(context, 'two'), 'done')
      assert.deepEqual(unblocked, [refOf(job)])
      const { blockers } = await claimOne()
      assert.deepEqual(
        blockers.map(({ id, result }) => [id, text(result)]),
        [
          [one.id, undefined],
          [blockers[1]!.id, 'done'],
        ],
      )
    },
  },
  {
    name: 'a job runs after its blockers were cancelled',
    proves: ['S13'],
    run: async (context) => {
      const { storage, claimOne } = context
      const { one, two, job } = await blocked(context)
      const verdicts = await storage.cancel([refOf(one), refOf(two)])
      assert.deepEqual(
        verdicts.flatMap(({ ended = [] }) => ended),
        [],
      )
      assert.equal((await claimOne()).id, job.id)
    },
  },
  {
    name: 'a job whose blocker had failed before it was added is due at once',
    proves: ['S13'],
    run: async (context) => {
      const { added, storage } = context
      const blocker = await inState(context, 'failed', { type: 'one' })
      const job = await added({ blockers: [refOf(blocker)], onBlockerFailure: 'run' })
      assert.deepEqual(await statesOf(storage, job), ['queued'])
    },
  },
  {
    name: 'a blocker that ends a second time after a revival counts once',
    proves: ['S13'],
    run: async (context) => {
      const { storage } = context
      const { one, job } = await blocked(context)
      await storage.cancel([refOf(one)])
      await storage.revive([refOf(one)])
      const { unblocked } = await complete(storage, await claimType(context, 'one'))
      assert.deepEqual(unblocked, [])
      const { state, openBlockers } = await recordOf(storage, job)
      assert.deepEqual([state, openBlockers], ['blocked', 1])
      await runOne(context, 'two')
      assert.deepEqual(await statesOf(storage, job), ['queued'])
    },
  },
  {
    name: 'a revived job whose blockers failed runs again',
    proves: ['S13'],
    run: async (context) => {
      const { storage, claimOne } = context
      const { one, two, job } = await blocked(context)
      await storage.cancel([refOf(one), refOf(two)])
      await fail(storage, await claimOne())
      assert.deepEqual(await storage.revive([refOf(job)]), [{ verdict: 'revived' }])
      assert.equal((await claimOne()).id, job.id)
    },
  },
]
