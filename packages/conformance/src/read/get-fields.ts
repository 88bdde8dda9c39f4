// The fields, parts and bytes of a record.

import assert from 'node:assert/strict'
import type { JobRecord, RecordPart } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'
import { complete, settleOne } from '../outcomes.ts'
import { recordOf, refOf } from '../records.ts'
import { inState } from '../scenarios.ts'

const allBytes = Uint8Array.from({ length: 256 }, (_, index) => index)
const same = (value: Uint8Array | undefined, expected: Uint8Array): void => {
  assert.ok(value, 'expected bytes, got none')
  assert.deepEqual([...value], [...expected])
}
const parts: readonly RecordPart[] = ['payload', 'result', 'error', 'attempts', 'blockers', 'tail']

/** The record without its undefined fields. */
const present = (record: JobRecord): Partial<JobRecord> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined && value !== false))

export const getFieldCases: readonly Case[] = [
  {
    name: 'get returns one entry per ref, in order, with undefined for unknown jobs',
    run: async ({ storage, added }) => {
      const [a, b] = [await added(), await added({ type: 'sms' })]
      const refs = [b, { type: 'mail', id: 'unknown' }, a, { type: 'sms', id: a.id }, b].map(refOf)
      const records = await storage.get(refs)
      assert.deepEqual(
        records.map((record) => record?.id),
        [b.id, undefined, a.id, undefined, b.id],
      )
      assert.deepEqual(await storage.get([]), [])
    },
  },
  {
    name: 'one id in two types is two jobs',
    proves: ['S24'],
    run: async ({ storage, added }) => {
      await added({ id: 'same', priority: 1 })
      await added({ type: 'sms', id: 'same', priority: 2 })
      const records = await storage.get(['sms', 'mail'].map((type) => ({ type, id: 'same' })))
      assert.deepEqual(
        records.map((record) => [record!.type, record!.priority]),
        [
          ['sms', 2],
          ['mail', 1],
        ],
      )
    },
  },
  {
    name: 'a new job has its defaults and no field that was not given',
    run: async ({ storage, job, now }) => {
      const { type, id, token, retention } = job()
      const before = await now()
      await storage.add([{ type, id, token, retention }])
      const record = await recordOf(storage, { type, id })
      const { createdAt } = record
      assert.ok(createdAt >= before && createdAt <= (await now()))
      const self = { type, id }
      const plain = { ...self, token, state: 'queued', retention, chain: self, root: self, createdAt, runAt: createdAt }
      const counters = { attempt: 0, failures: 0, snoozes: 0, priority: 0, chainIndex: 0, openBlockers: 0 }
      assert.deepEqual(present(record), { ...plain, ...counters })
    },
  },
  {
    name: 'get returns every field that a job was given',
    run: async ({ storage, added, unit }) => {
      const job = await added({
        priority: -100,
        group: { key: 'g', ordered: true },
        deduplication: { key: 'k', mode: 'throttle', windowMs: unit },
        maxAttempts: 7,
        trace: '00-trace',
        delayMs: 50 * unit,
        retention: { completedMs: Infinity, failedMs: 0, cancelledMs: 3 },
      })
      const record = await recordOf(storage, job)
      const { priority, group, deduplicationKey, maxAttempts, trace, retention, state, token } = record
      assert.deepEqual([priority, group, deduplicationKey, maxAttempts, trace], [-100, 'g', 'k', 7, '00-trace'])
      assert.deepEqual([retention, state, token], [job.retention, 'scheduled', job.token])
      assert.equal(record.runAt, record.createdAt + 50 * unit)
    },
  },
  {
    name: 'each part is present only if it was asked for',
    run: async (context) => {
      const { storage, added, claimOne } = context
      const blocker = await inState(context, 'completed', { type: 'blocker' })
      const job = await added({ payload: bytes('p'), blockers: [refOf(blocker)] })
      await settleOne(storage, await claimOne(), { kind: 'retry', error: bytes('e') })
      await complete(storage, await claimOne(), 'r')
      const failed = await inState(context, 'failed')
      for (const given of [[], ...parts.map((part) => [part])]) {
        const done = await recordOf(storage, job, ...given)
        const broken = await recordOf(storage, failed, ...given)
        for (const part of parts) {
          const asked = given.includes(part)
          assert.equal((part === 'error' ? broken : done)[part] !== undefined, asked, `${part}, asked for ${given}`)
        }
      }
    },
  },
  {
    name: 'no bytes and zero bytes are distinct for payload, result and error',
    proves: ['trap 1'],
    run: async ({ storage, added, claim }) => {
      const none = new Uint8Array()
      const jobs = [await added(), await added({ payload: none }), await added(), await added({ payload: none })]
      const leases = await claim()
      await settleOne(storage, leases[0]!, { kind: 'completed' })
      await settleOne(storage, leases[1]!, { kind: 'completed', result: none })
      await settleOne(storage, leases[2]!, { kind: 'failed' })
      await settleOne(storage, leases[3]!, { kind: 'failed', error: none })
      const records = await storage.get(jobs.map(refOf), { parts: ['payload', 'result', 'error'] })
      assert.deepEqual(
        records.map((record) => [record!.payload?.length, record!.result?.length, record!.error?.length]),
        [
          [undefined, undefined, undefined],
          [0, 0, undefined],
          [undefined, undefined, undefined],
          [0, undefined, 0],
        ],
      )
    },
  },
  {
    name: 'every byte value is returned in payload, result, error and attempts',
    proves: ['trap 27', 'S2'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added({ payload: allBytes })
      const lease = await claimOne()
      same(lease.payload, allBytes)
      await settleOne(storage, lease, { kind: 'retry', error: allBytes })
      const failing = await recordOf(storage, job, 'payload', 'error', 'attempts')
      for (const value of [failing.payload, failing.error, failing.attempts![0]!.error]) same(value, allBytes)
      await settleOne(storage, await claimOne(), { kind: 'completed', result: allBytes })
      same((await recordOf(storage, job, 'result')).result, allBytes)
    },
  },
  {
    name: 'of a view into a larger buffer only the view is stored',
    proves: ['S2'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added({ payload: bytes('--payload--').subarray(2, 9) })
      await settleOne(storage, await claimOne(), { kind: 'completed', result: bytes('--result--').subarray(2, 8) })
      const { payload, result } = await recordOf(storage, job, 'payload', 'result')
      assert.deepEqual([text(payload), text(result)], ['payload', 'result'])
    },
  },
  {
    name: 'the payload that a release replaced is the one that is read',
    run: async ({ storage, added, claimOne }) => {
      const job = await added({ payload: bytes('old') })
      await settleOne(storage, await claimOne(), { kind: 'released', payload: bytes('new') })
      assert.equal(text((await recordOf(storage, job, 'payload')).payload), 'new')
    },
  },
]
