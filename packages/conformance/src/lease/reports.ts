// Reports of running attempts: progress and log lines that extend and settle carry.

import assert from 'node:assert/strict'
import type { ClaimedJob, Log, Outcome, Report } from 'holdfast/storage'
import { bytes, type Case, type CaseContext, text } from '../case.ts'
import { fenceOf, recordOf } from '../records.ts'

const lines = (...texts: string[]): Required<Pick<Report, 'log'>> => ({
  log: texts.map((line, index) => ({ at: 1_000 + index, line: bytes(line) })),
})

const textsOf = (log: Log | undefined): (string | undefined)[] => log!.lines.map(({ line }) => text(line))

const report = async ({ storage, unit }: CaseContext, lease: ClaimedJob, given: Report): Promise<void> => {
  const [verdict] = await storage.extend([{ ...fenceOf(lease), leaseMs: 10 * unit, ...given }])
  assert.equal(verdict!.verdict, 'extended')
}

export const reportCases: readonly Case[] = [
  {
    name: 'progress and log lines of an extend can be read while the job runs, from another handle too',
    proves: ['F27'],
    run: async (context) => {
      const { storage, added, claimOne, another } = context
      const job = await added()
      const lease = await claimOne()
      await report(context, lease, { progress: bytes('10'), ...lines('a', 'b') })
      await report(context, lease, { progress: bytes('20'), ...lines('c') })
      for (const handle of [storage, await another()]) {
        const record = await recordOf(handle, job, 'progress', 'log')
        assert.equal(text(record.progress), '20')
        assert.deepEqual(textsOf(record.log), ['a', 'b', 'c'])
        assert.deepEqual(record.log!.lines[0], { attempt: 1, at: 1_000, line: record.log!.lines[0]!.line })
        assert.equal(record.log!.dropped, 0)
      }
      const plain = await recordOf(storage, job)
      assert.deepEqual([plain.progress, plain.log], [undefined, undefined])
    },
  },
  {
    name: 'a job without a report has no progress and an empty log',
    proves: ['F27'],
    run: async ({ storage, added }) => {
      const record = await recordOf(storage, await added(), 'progress', 'log')
      assert.deepEqual([record.progress, record.log], [undefined, { lines: [], dropped: 0 }])
    },
  },
  {
    name: 'a report without progress keeps the progress before it',
    proves: ['F27'],
    run: async (context) => {
      const job = await context.added()
      const lease = await context.claimOne()
      await report(context, lease, { progress: bytes('10') })
      await report(context, lease, lines('a'))
      const record = await recordOf(context.storage, job, 'progress', 'log')
      assert.deepEqual([text(record.progress), textsOf(record.log)], ['10', ['a']])
    },
  },
  ...(['completed', 'retry', 'failed', 'released'] as const).map((kind): Case => ({
    name: `an outcome ${kind} carries the last report, which stays with the job`,
    proves: ['F27'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added()
      const outcome = { ...fenceOf(await claimOne()), kind, progress: bytes('99'), ...lines('last') } as Outcome
      assert.equal((await storage.settle([outcome]))[0]!.verdict, 'settled')
      assert.equal((await storage.settle([outcome]))[0]!.verdict, 'settled', 'a repeat')
      const record = await recordOf(storage, job, 'progress', 'log')
      assert.deepEqual([text(record.progress), textsOf(record.log)], ['99', ['last']])
    },
  })),
  {
    name: 'outcomes that a claim carries bring their reports',
    proves: ['F27'],
    run: async ({ storage, added, claimOne, claimRequest }) => {
      const job = await added()
      const outcome = { ...fenceOf(await claimOne()), kind: 'completed', progress: bytes('9'), ...lines('x') } as const
      await storage.claim(claimRequest({ outcomes: [outcome] }))
      const record = await recordOf(storage, job, 'progress', 'log')
      assert.deepEqual([record.state, text(record.progress), textsOf(record.log)], ['completed', '9', ['x']])
    },
  },
  {
    name: 'the log has the lines of all attempts, with their numbers',
    proves: ['F27'],
    run: async (context) => {
      const { storage, added, claimOne } = context
      const job = await added()
      const first = await claimOne()
      await report(context, first, { progress: bytes('1'), ...lines('one') })
      await storage.settle([{ ...fenceOf(first), kind: 'retry' }])
      const second = await claimOne()
      assert.equal(text((await recordOf(storage, job, 'progress')).progress), '1')
      await report(context, second, lines('two'))
      const { log } = await recordOf(storage, job, 'log')
      assert.deepEqual(
        log!.lines.map(({ attempt }) => attempt),
        [1, 2],
      )
    },
  },
  {
    name: 'a report under a fence that no longer matches changes nothing',
    proves: ['F27', 'S2'],
    run: async (context) => {
      const { storage, added, claimOne, advance, unit } = context
      const job = await added()
      const lost = await claimOne()
      await advance(11 * unit)
      const lease = await claimOne()
      await report(context, lease, { progress: bytes('own'), ...lines('own') })
      const stale = { progress: bytes('stale'), ...lines('stale') }
      const [extended] = await storage.extend([{ ...fenceOf(lost), leaseMs: 10 * unit, ...stale }])
      assert.equal(extended!.verdict, 'taken_by_another_worker')
      const [settled] = await storage.settle([{ ...fenceOf(lost), kind: 'completed', ...stale }])
      assert.equal(settled!.verdict, 'taken_by_another_worker')
      const record = await recordOf(storage, job, 'progress', 'log')
      assert.deepEqual([text(record.progress), textsOf(record.log)], ['own', ['own']])
    },
  },
  {
    name: 'the log keeps the last 1,000 lines, and counts those that were dropped',
    proves: ['F27'],
    run: async (context) => {
      const job = await context.added()
      const lease = await context.claimOne()
      const texts = Array.from({ length: 1_250 }, (_, index) => `line ${index}`)
      for (let from = 0; from < texts.length; from += 250) {
        await report(context, lease, lines(...texts.slice(from, from + 250)))
      }
      const { log } = await recordOf(context.storage, job, 'log')
      assert.deepEqual(textsOf(log), texts.slice(250))
      assert.equal(log!.dropped, 250)
    },
  },
  {
    name: 'the log keeps at most 64 KiB, and always its newest line',
    proves: ['F27'],
    run: async (context) => {
      const job = await context.added()
      const lease = await context.claimOne()
      for (const letter of 'abcdefgh') await report(context, lease, lines(letter.repeat(10_000)))
      const { log } = await recordOf(context.storage, job, 'log')
      assert.deepEqual(
        textsOf(log).map((line) => line![0]),
        [...'cdefgh'],
      )
      assert.equal(log!.dropped, 2)
      await report(context, lease, lines('small', 'z'.repeat(70_000)))
      const newest = (await recordOf(context.storage, job, 'log')).log!
      assert.deepEqual(
        textsOf(newest).map((line) => line!.length),
        [70_000],
      )
      assert.equal(newest.dropped, 9)
    },
  },
  {
    name: 'a report is deleted with its record, and a new life of the id begins without one',
    proves: ['F27'],
    run: async (context) => {
      const { storage, added, claimOne, job } = context
      const { id } = await added()
      const lease = await claimOne()
      await report(context, lease, { progress: bytes('1'), ...lines('old') })
      await storage.settle([{ ...fenceOf(lease), kind: 'completed' }])
      assert.equal((await storage.remove([{ type: 'mail', id }]))[0]!.verdict, 'removed')
      await storage.add([job({ id })])
      const record = await recordOf(storage, { type: 'mail', id }, 'progress', 'log')
      assert.deepEqual([record.progress, record.log!.lines.length], [undefined, 0])
    },
  },
]
