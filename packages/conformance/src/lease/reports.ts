// Reports of running attempts: progress and log lines that extend and settle carry.

import assert from 'node:assert/strict'
import type { ClaimedJob, Log, Outcome, Report } from 'holdfast/storage'
import { bytes, type Case, type CaseContext, text } from '../case.ts'
import { fenceOf, recordOf } from '../records.ts'

/** Lines of different instants, the first of which is given. */
const linesFrom = (at: number, ...texts: string[]): Required<Pick<Report, 'log'>> => ({
  log: texts.map((line, index) => ({ at: at + index, line: bytes(line) })),
})

let logged = 1_000
/** Lines that are later than all lines before them. */
const lines = (...texts: string[]): Required<Pick<Report, 'log'>> =>
  linesFrom((logged += texts.length) - texts.length, ...texts)

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
      await report(context, lease, { progress: bytes('10'), ...linesFrom(1_000, 'a', 'b') })
      await report(context, lease, { progress: bytes('20'), ...linesFrom(1_002, 'c') })
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
    name: 'an extend that is repeated after a lost answer stores its lines once',
    proves: ['F27', 'S3'],
    run: async (context) => {
      const job = await context.added()
      const lease = await context.claimOne()
      const first = { progress: bytes('10'), ...lines('a', 'b') }
      await report(context, lease, first)
      await report(context, lease, first)
      const record = await recordOf(context.storage, job, 'progress', 'log')
      assert.deepEqual([text(record.progress), textsOf(record.log)], ['10', ['a', 'b']])
      assert.equal(record.log!.dropped, 0)
    },
  },
  {
    name: 'a repeat stores the lines that came after those that are stored, by extend, settle and claim',
    proves: ['F27', 'S3'],
    run: async (context) => {
      const { storage, claimRequest } = context
      const jobs = [await context.added(), await context.added(), await context.added()]
      const [extended, settled, claimed] = await context.claim({ slots: 3 })
      const first = linesFrom(1_000, 'a', 'b')
      // Parts of a millisecond count: so a worker numbers lines of one instant.
      const more = { log: [...first.log, { at: 1_001.5, line: bytes('c') }, { at: 1_001.75, line: bytes('d') }] }
      for (const lease of [extended!, settled!, claimed!]) await report(context, lease, first)
      await report(context, extended!, more)
      await storage.settle([{ ...fenceOf(settled!), kind: 'retry', ...more }])
      await storage.claim(claimRequest({ slots: 0, outcomes: [{ ...fenceOf(claimed!), kind: 'completed', ...more }] }))
      for (const job of jobs) {
        const { log } = await recordOf(storage, job, 'log')
        assert.deepEqual(
          log!.lines.map(({ at, line }) => [at, text(line)]),
          [
            [1_000, 'a'],
            [1_001, 'b'],
            [1_001.5, 'c'],
            [1_001.75, 'd'],
          ],
        )
      }
    },
  },
  {
    name: 'an extend that arrives after a later one stores no line twice',
    proves: ['F27', 'S3'],
    run: async (context) => {
      const job = await context.added()
      const lease = await context.claimOne()
      await report(context, lease, linesFrom(1_000, 'a', 'b', 'c'))
      await report(context, lease, linesFrom(1_000, 'a'))
      const { log } = await recordOf(context.storage, job, 'log')
      assert.deepEqual(textsOf(log), ['a', 'b', 'c'])
    },
  },
  {
    name: 'extends at the same time with the same lines store them once, from two handles',
    proves: ['F27', 'S3'],
    run: async (context) => {
      const handles = [context.storage, await context.another()]
      const job = await context.added()
      const lease = await context.claimOne()
      const given: string[] = []
      for (let round = 0; round < 10; round++) {
        given.push(`${round} a`, `${round} b`)
        const extension = { ...fenceOf(lease), leaseMs: 10 * context.unit, ...lines(`${round} a`, `${round} b`) }
        const calls = Array.from({ length: 6 }, (_, index) => handles[index % 2]!.extend([extension]))
        for (const [verdict] of await Promise.all(calls)) assert.match(verdict!.verdict, /^(extended|busy)$/)
        // As a worker does: all calls may have met a locked record.
        await report(context, lease, extension)
      }
      const { log } = await recordOf(context.storage, job, 'log')
      assert.deepEqual(textsOf(log), given)
    },
  },
  {
    name: 'lines of equal text and instant are kept: of one report, and of two attempts',
    proves: ['F27'],
    run: async (context) => {
      const { storage, added, claimOne } = context
      const job = await added()
      const first = await claimOne()
      const twice = { log: [...linesFrom(1_000, 'a').log, ...linesFrom(1_000, 'a').log] }
      await report(context, first, twice)
      await storage.settle([{ ...fenceOf(first), kind: 'retry' }])
      await report(context, await claimOne(), twice)
      const { log } = await recordOf(storage, job, 'log')
      assert.deepEqual(textsOf(log), ['a', 'a', 'a', 'a'])
    },
  },
  {
    name: 'a repeat displaces no line of a full log',
    proves: ['F27', 'S3'],
    run: async (context) => {
      const job = await context.added()
      const lease = await context.claimOne()
      for (const letter of 'abcdef') await report(context, lease, lines(letter.repeat(10_000)))
      const last = lines('g'.repeat(5_000), 'h'.repeat(5_000))
      for (let times = 0; times < 5; times++) await report(context, lease, last)
      const { log } = await recordOf(context.storage, job, 'log')
      assert.deepEqual(
        textsOf(log).map((line) => line![0]),
        [...'bcdefgh'],
      )
      assert.equal(log!.dropped, 1)
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
