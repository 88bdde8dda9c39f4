// A new job under the id of a failed or cancelled one: added at once, and without anything of the old job.

import assert from 'node:assert/strict'
import type { NewJob } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case, CaseContext } from '../case.ts'
import { fail, retry, settleOutcome } from '../outcomes.ts'
import { fenceOf, recordOf, refOf, statesOf } from '../records.ts'
import { addOne } from '../scenarios.ts'

const ends: readonly (readonly [string, (context: CaseContext) => Promise<NewJob>])[] = [
  [
    'failed',
    async ({ storage, added, claimOne }) => {
      const job = await added({ payload: bytes('old') })
      await retry(storage, await claimOne())
      await fail(storage, await claimOne())
      return job
    },
  ],
  [
    'cancelled',
    async ({ storage, added, claimOne }) => {
      const job = await added({ payload: bytes('old') })
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'released', delayMs: 0 })
      await storage.cancel([refOf(job)], { reason: 'enough' })
      return job
    },
  ],
]

export const addNewLifeCases: readonly Case[] = ends.flatMap(([state, arrange]) => [
  {
    name: `the id of a ${state} job is free at once, and the new job inherits nothing`,
    proves: ['S11', 'S5', 'F28'],
    run: async (context) => {
      const { storage, job, advance, unit, claimOne } = context
      const old = await arrange(context)
      const { createdAt } = await recordOf(storage, old)
      await advance(unit)
      const second = job({ id: old.id, payload: bytes('new') })
      const verdict = await addOne(storage, second)
      assert.ok(verdict.verdict === 'added' && verdict.job.token === second.token && verdict.job.state === 'queued')
      const record = await recordOf(storage, second, 'payload', 'error', 'attempts')
      assert.deepEqual(
        [record.token, record.state, record.attempt, record.failures, record.snoozes, text(record.payload)],
        [second.token, 'queued', 0, 0, 0, 'new'],
      )
      assert.ok(record.createdAt > createdAt)
      for (const field of ['error', 'reason', 'finishedAt', 'expiresAt', 'startedAt', 'cancelReason'] as const)
        assert.equal(record[field], undefined, field)
      assert.deepEqual([...(record.attempts ?? [])], [])
      assert.equal((await claimOne()).attempt, 1)
    },
  },
  {
    name: `the retention of a ${state} job does not end the new job under its id`,
    proves: ['S1', 'S12'],
    run: async (context) => {
      const { storage, added, advance, unit } = context
      const old = await arrange(context)
      await storage.remove([refOf(old)], { afterMs: unit })
      await added({ id: old.id })
      await advance(2 * unit)
      await storage.sweep({ limit: 100 })
      assert.deepEqual(await statesOf(storage, old), ['queued'])
    },
  },
])
