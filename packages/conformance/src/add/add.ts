// add: an accepted job is stored once, complete and unchanged, and is due when asked. The verdict says so.

import assert from 'node:assert/strict'
import type { NewJob } from 'holdfast/storage'
import { addDepthCases } from './add-depth.ts'
import { addGroupKindCases } from './add-group-kind.ts'
import { addAscendingCases } from './add-ascending.ts'
import { addBlockerCases } from './add-blockers.ts'
import { addDebounceCases } from './add-debounce.ts'
import { addFollowUpCases } from './add-follow-up.ts'
import { addIdCases } from './add-ids.ts'
import { addKeyCases } from './add-keys.ts'
import { addKeyWindowCases } from './add-key-windows.ts'
import { addMixedKeyCases } from './add-mixed-keys.ts'
import { addRepeatCases } from './add-repeat.ts'
import { addRunBlockerCases } from './add-run-blockers.ts'
import { addTreeCases } from './add-trees.ts'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'
import { idsOf, recordOf, refOf, statesOf } from '../records.ts'
import { addOne } from '../scenarios.ts'
import { addReplaceCases } from './add-replace.ts'

const verdictCases: readonly Case[] = [
  {
    name: 'the verdict names the job that was added, and its state',
    proves: ['S1'],
    run: async ({ storage, unit, job }) => {
      const [now, later] = [job(), job({ delayMs: 50 * unit })]
      const verdicts = await storage.add([now, later])
      assert.deepEqual(
        verdicts.map((verdict) => verdict.verdict === 'added' && [verdict.job.type, verdict.job.id, verdict.job.token]),
        [now, later].map(({ type, id, token }) => [type, id, token]),
      )
      assert.deepEqual(
        verdicts.map((verdict) => verdict.verdict === 'added' && verdict.job.state),
        ['queued', 'scheduled'],
      )
    },
  },
  {
    name: 'a verdict with createdAt has the createdAt of the record',
    run: async ({ storage, added, job, advance, unit }) => {
      const taken = await added({ deduplication: { key: 'k', mode: 'simple' } })
      await advance(unit)
      const jobs = [
        job(),
        job({ delayMs: unit }),
        job({ id: taken.id }),
        job({ deduplication: { key: 'k', mode: 'simple' } }),
      ]
      for (const batch of [
        ...jobs.map((one) => [one]),
        [job(), job({ priority: 5 }), job({ blockers: [refOf(taken)] })],
      ]) {
        for (const verdict of await storage.add(batch)) {
          assert.ok(verdict.verdict === 'added' || verdict.verdict === 'duplicate')
          const { createdAt } = verdict.job
          if (createdAt !== undefined) assert.equal(createdAt, (await recordOf(storage, verdict.job)).createdAt)
        }
      }
    },
  },
  {
    name: 'there is one verdict per job, in order, and a refused job affects no other',
    proves: ['S3', 'F3'],
    run: async ({ storage, added, job }) => {
      const taken = await added()
      const jobs = [
        job(),
        job({ id: taken.id }),
        job(),
        job({ blockers: [{ type: 'mail', id: 'unknown' }] }),
        job({ type: 'post' }),
      ]
      const verdicts = await storage.add(jobs)
      assert.deepEqual(
        verdicts.map((verdict) => verdict.verdict),
        ['added', 'duplicate', 'added', 'blocker_not_found', 'added'],
      )
      assert.deepEqual(await statesOf(storage, ...jobs), ['queued', 'queued', 'queued', undefined, 'queued'])
      assert.equal((await recordOf(storage, taken)).token, taken.token)
    },
  },
  {
    name: 'an empty batch has no verdicts',
    run: async ({ storage }) => {
      assert.deepEqual(await storage.add([]), [])
      assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
    },
  },
  {
    name: 'a large batch is accepted completely and claimed in its order',
    proves: ['F3', 'S1', 'S15'],
    run: async ({ storage, job, claim }) => {
      const jobs = Array.from({ length: 300 }, () => job())
      const verdicts = await storage.add(jobs)
      assert.ok(verdicts.length === 300 && verdicts.every((verdict) => verdict.verdict === 'added'))
      assert.deepEqual(idsOf(await claim({ slots: 1000 })), idsOf(jobs))
    },
  },
]

const recordCases: readonly Case[] = [
  {
    name: 'the record has every field that was given',
    proves: ['S2'],
    run: async ({ storage, added }) => {
      const job = await added({
        payload: bytes('hello'),
        priority: -7,
        group: { key: 'tenant', ordered: true },
        deduplication: { key: 'key', mode: 'simple' },
        maxAttempts: 9,
        retention: { completedMs: 1, failedMs: 2, cancelledMs: 3 },
        trace: '00-trace-01',
      })
      const record = await recordOf(storage, job, 'payload')
      assert.equal(text(record.payload), 'hello')
      assert.deepEqual(
        [
          record.type,
          record.id,
          record.token,
          record.priority,
          record.group,
          record.deduplicationKey,
          record.maxAttempts,
        ],
        [job.type, job.id, job.token, -7, 'tenant', 'key', 9],
      )
      assert.equal(record.trace, '00-trace-01')
      const { completedMs, failedMs, cancelledMs } = record.retention
      assert.deepEqual([completedMs, failedMs, cancelledMs], [1, 2, 3])
    },
  },
  {
    name: 'a field that was not given is absent or has its default',
    run: async ({ storage, job }) => {
      const { maxAttempts: _, ...bare } = job()
      await addOne(storage, bare)
      const record = await recordOf(storage, bare, 'payload', 'result', 'error', 'attempts', 'blockers')
      assert.deepEqual(
        [record.state, record.attempt, record.failures, record.snoozes, record.priority, record.openBlockers],
        ['queued', 0, 0, 0, 0, 0],
      )
      const absent = [
        'maxAttempts',
        'group',
        'deduplicationKey',
        'trace',
        'payload',
        'result',
        'error',
        'reason',
      ] as const
      for (const field of absent) assert.equal(record[field], undefined, field)
      const later = ['startedAt', 'finishedAt', 'expiresAt', 'label', 'worker', 'leaseUntil', 'cancelReason'] as const
      for (const field of later) assert.equal(record[field], undefined, field)
      assert.ok(!record.cancelling)
      assert.deepEqual([...(record.attempts ?? [])], [])
      assert.deepEqual([...(record.blockers ?? [])], [])
    },
  },
  {
    name: 'a job without a continuation is a chain of one and its own root',
    run: async ({ storage, added }) => {
      const job = await added()
      const record = await recordOf(storage, job, 'tail')
      assert.deepEqual([refOf(record.chain), record.chainIndex, refOf(record.root)], [refOf(job), 0, refOf(job)])
      assert.equal(record.origin, undefined)
      assert.equal(record.tail?.id, job.id)
    },
  },
  {
    name: 'an infinite retention is stored as such',
    proves: ['F29'],
    run: async ({ storage, added }) => {
      const job = await added({ retention: { completedMs: Infinity, failedMs: 0, cancelledMs: Infinity } })
      const { completedMs, failedMs, cancelledMs } = (await recordOf(storage, job)).retention
      assert.deepEqual([completedMs, failedMs, cancelledMs], [Infinity, 0, Infinity])
    },
  },
  {
    name: 'createdAt is the storage’s time during the call',
    proves: ['R4'],
    run: async ({ storage, added, now }) => {
      const before = await now()
      const job = await added()
      const { createdAt } = await recordOf(storage, job)
      assert.ok(before <= createdAt && createdAt <= (await now()))
    },
  },
  {
    name: 'waiting jobs are never swept, however old',
    proves: ['S1', 'F29'],
    run: async ({ storage, added, advance, unit }) => {
      const gone = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
      const jobs = [await added({ retention: gone }), await added({ retention: gone, delayMs: 500 * unit })]
      await advance(3 * unit)
      await storage.sweep({ limit: 100 })
      assert.deepEqual(await statesOf(storage, ...jobs), ['queued', 'scheduled'])
    },
  },
]

const timeCases: readonly Case[] = [
  {
    name: 'without a time a job is due now',
    proves: ['F1'],
    run: async ({ storage, added }) => {
      const { state, runAt, createdAt } = await recordOf(storage, await added())
      assert.deepEqual([state, runAt], ['queued', createdAt])
    },
  },
  {
    name: 'a delay counts from the storage’s current time',
    proves: ['F1', 'S14'],
    run: async ({ storage, added, unit }) => {
      const { state, runAt, createdAt } = await recordOf(storage, await added({ delayMs: 50 * unit }))
      assert.deepEqual([state, runAt], ['scheduled', createdAt + 50 * unit])
    },
  },
  {
    name: 'a delay of 0 means now',
    proves: ['F1'],
    run: async ({ storage, added }) => {
      const { state, runAt, createdAt } = await recordOf(storage, await added({ delayMs: 0 }))
      assert.deepEqual([state, runAt], ['queued', createdAt])
    },
  },
  {
    name: 'a future runAt is kept to the millisecond',
    proves: ['F1', 'S14'],
    run: async ({ storage, added, now, unit }) => {
      const runAt = (await now()) + 50 * unit + 7
      const record = await recordOf(storage, await added({ runAt }))
      assert.deepEqual([record.state, record.runAt], ['scheduled', runAt])
    },
  },
  {
    name: 'a past runAt means now',
    proves: ['F1'],
    run: async ({ storage, added }) => {
      for (const past of [1, 0, -1]) {
        const { state, runAt, createdAt } = await recordOf(storage, await added({ runAt: past }))
        assert.deepEqual([state, runAt], ['queued', createdAt])
      }
    },
  },
  {
    name: 'a delay above 2^31 ms and a runAt in the year 9999 are kept and not due',
    proves: ['T3', 'trap 50', 'W12'],
    run: async ({ storage, added, claim, advance, unit }) => {
      const far = await recordOf(storage, await added({ delayMs: 2 ** 31 + 1 }))
      assert.equal(far.runAt, far.createdAt + 2 ** 31 + 1)
      assert.equal((await recordOf(storage, await added({ runAt: 253_402_300_799_999 }))).runAt, 253_402_300_799_999)
      await advance(unit)
      assert.deepEqual(await claim(), [])
    },
  },
]

const unsupported: readonly (readonly [string, object])[] = [
  ['an unknown deduplication mode', { deduplication: { key: 'k', mode: 'latest' } }],
]

const unsupportedCases: readonly Case[] = unsupported.map(([what, fields]) => ({
  name: `${what} is refused as unsupported, and nothing of its batch is written`,
  proves: ['F25', 'F21'],
  run: async ({ storage, job }) => {
    const good = job({ deduplication: { key: 'good', mode: 'simple' } })
    const bad = { ...job(), ...fields } as unknown as NewJob
    await assert.rejects(storage.add([good, bad, job()]), { code: 'FEATURE_UNSUPPORTED' })
    assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
    const again = await addOne(storage, job({ deduplication: { key: 'good', mode: 'simple' } }))
    assert.equal(again.verdict, 'added')
  },
}))

export const addCases: readonly Case[] = [
  ...verdictCases,
  ...recordCases,
  ...timeCases,
  ...addIdCases,
  ...addRepeatCases,
  ...addKeyCases,
  ...addKeyWindowCases,
  ...addDebounceCases,
  ...addFollowUpCases,
  ...addAscendingCases,
  ...addMixedKeyCases,
  ...addBlockerCases,
  ...addRunBlockerCases,
  ...addTreeCases,
  ...unsupportedCases,
  ...addReplaceCases,
  ...addDepthCases,
  ...addGroupKindCases,
]
