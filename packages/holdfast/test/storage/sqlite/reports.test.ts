// Reports in their tables: bounded rows, deleted from the oldest, and none for jobs that report nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClaimedJob, LogLine, Outcome, Report } from 'holdfast/storage'
import type { SqliteStorage } from 'holdfast/sqlite'
import { systemClock } from '../../../src/clock.ts'
import { appendLines } from '../../../src/storage/rules/job/report.ts'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { bench, completed, newJob, types } from './bench.ts'
import { checkTables, inspect, rowCounts } from './check-tables.ts'

const ref = (id: string) => ({ type: defaultType, id })

async function running(storage: SqliteStorage, id: string): Promise<ClaimedJob> {
  await storage.add([newJob(id)])
  return (await storage.claim({ worker: `w of ${id}`, slots: 1, types })).jobs[0]!
}

const extend = (storage: SqliteStorage, { type, id, worker, attempt }: ClaimedJob, report: Report) =>
  storage.extend([{ type, id, worker, attempt, leaseMs: 60_000, ...report }])

const logOf = async (storage: SqliteStorage, id: string) => (await storage.get([ref(id)], { parts: ['log'] }))[0]!.log!

const summary = (all: readonly LogLine[]): number[][] => all.map(({ at, line }) => [at, line.byteLength])

test('[F27] logs of any shape are trimmed as the rule does, and the table keeps no more', async (t) => {
  const { open } = bench(t)
  const storage = await open({ durability: 'relaxed' })
  const job = await running(storage, 'a')
  let expected: ReturnType<typeof appendLines> | undefined
  // Numbers of lines and their lengths: below, at and above both bounds, with lines of zero bytes.
  const shapes = [
    [1, 0],
    [3, 20_000],
    [2, 65_536],
    [1, 100_000],
    [999, 1],
    [1, 0],
    [2_500, 3],
    [1, 65_530],
    [5, 2],
    [1_001, 70],
  ] as const
  for (const [round, [count, length]] of shapes.entries()) {
    const lines: LogLine[] = Array.from({ length: count }, (_, index) => ({
      attempt: 1,
      at: round * 10_000 + index,
      line: Buffer.alloc(length, 1),
    }))
    expected = appendLines(expected, lines)
    await extend(storage, job, { log: lines.map(({ at, line }) => ({ at, line })) })
    const { lines: kept, dropped } = await logOf(storage, 'a')
    assert.deepEqual([summary(kept), dropped], [summary(expected.lines), expected.dropped], `${count} of ${length}`)
    await inspect(storage, checkTables)
  }
})

test('[F27] jobs that report nothing have no rows, and reports are deleted with their records', async (t) => {
  const { open } = bench(t)
  let now = 1_767_225_600_000
  const storage = await open({ clock: { ...systemClock, now: () => now } })
  await storage.settle([completed(await running(storage, 'plain'))])
  const none = {
    holdfast_progress: 0,
    holdfast_lines: 0,
    holdfast_places: 0,
    holdfast_search: 0,
    holdfast_deadlines: 0,
  }
  const counts = async () => {
    const all = await inspect(storage, rowCounts)
    return Object.fromEntries(Object.keys(none).map((table) => [table, all[table]]))
  }
  assert.deepEqual(await counts(), none)
  for (const id of ['a', 'b']) {
    const job = await running(storage, id)
    const outcome = {
      ...completed(job),
      progress: new Uint8Array(),
      log: [{ at: 1, line: new Uint8Array() }],
    } as Outcome
    await storage.settle([outcome])
    await storage.settle([outcome])
  }
  assert.deepEqual(await counts(), { ...none, holdfast_progress: 2, holdfast_lines: 2 })
  await storage.remove([ref('a')])
  assert.deepEqual(await counts(), { ...none, holdfast_progress: 1, holdfast_lines: 1 })
  now += 60_001
  assert.equal((await storage.sweep({ limit: 10 })).jobs, 2)
  assert.deepEqual(await counts(), none)
})

const lines = (from: string) => Array.from({ length: 30 }, (_, at) => ({ at, line: Buffer.from(`${from} ${at}`) }))

const many = (from: number): { at: number; line: Buffer }[] =>
  Array.from({ length: 700 }, (_, at) => ({ at: from + at, line: Buffer.from('x') }))

test('[F27] lines of two connections are all there; an extend that is repeated after a lost reply adds none', async (t) => {
  const { open } = bench(t)
  const handles = [await open({ durability: 'relaxed' }), await open({ durability: 'relaxed' })]
  const job = await running(handles[0]!, 'a')
  const texts = lines('one').flatMap(({ line }, index) => [line, lines('other')[index]!.line])
  for (const [at, line] of texts.entries()) {
    const [verdict] = await extend(handles[at % 2]!, job, { log: [{ at, line }], progress: Buffer.from('p') })
    assert.equal(verdict!.verdict, 'extended')
  }
  assert.deepEqual(
    (await logOf(handles[1]!, 'a')).lines.map(({ line }) => Buffer.from(line).toString()),
    texts.map((line) => line.toString()),
  )
  // From both connections at once.
  await Promise.all([...handles, ...handles].map((handle) => extend(handle, job, { log: many(1_000) })))
  const once = await logOf(handles[0]!, 'a')
  assert.deepEqual([once.lines.length, once.dropped], [760, 0])
  await extend(handles[1]!, job, { log: many(2_000) })
  const full = await logOf(handles[0]!, 'a')
  assert.deepEqual([full.lines.length, full.dropped], [1_000, 460])
})
