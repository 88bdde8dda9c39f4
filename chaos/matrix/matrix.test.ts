// The fault matrix as data: every cell has a way to run, which exists, or a reason; and its summary fails where it should.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Entry } from '../entries.ts'
import { type Cell, cells } from './cells.ts'
import { faultNames, faults } from './faults.ts'
import { groupsOf } from './groups.ts'
import { cellLine, summaryOf } from './matrix-table.ts'
import { Results } from './results.ts'
import { rigFaults } from './rig-faults.ts'
import { type CellResult, nameOf, resultOfTests } from './run-cell.ts'
import { runGroup } from './run-group.ts'
import { scenarios } from './scenarios/index.ts'

const folder = fileURLToPath(new URL('../../packages/holdfast/', import.meta.url))

test('every fault has a cell for each of its drivers, once', () => {
  const names = cells.map(nameOf)
  assert.equal(new Set(names).size, names.length)
  const expected = faultNames.flatMap((fault) => faults[fault].drivers.map((driver) => `${fault}/${driver}`))
  assert.deepEqual(names, expected)
})

test('every cell has a way to run that exists, or a reason; less than a tenth has a reason', () => {
  for (const cell of cells) {
    const { way } = cell
    if (way.by === 'nothing') assert.ok(way.reason.length > 20, nameOf(cell))
    if (way.by === 'rig') assert.ok(way.fault in rigFaults, nameOf(cell))
    if (way.by === 'scenario')
      assert.ok(existsSync(new URL(`scenarios/${way.scenario}.ts`, import.meta.url)), nameOf(cell))
    if (way.by === 'tests')
      for (const file of way.files) assert.ok(existsSync(join(folder, file)), `${nameOf(cell)}: ${file}`)
  }
  assert.ok(cells.filter(({ way }) => way.by === 'nothing').length < cells.length / 10)
  const used = new Set(cells.flatMap(({ way }) => (way.by === 'scenario' ? [way.scenario] : [])))
  assert.deepEqual([...used].toSorted(), Object.keys(scenarios).toSorted())
})

test('each alternative of a pattern names a test: one that matches none would pass', () => {
  const sources = new Map<string, string>()
  const sourceOf = (file: string): string => {
    const text = sources.get(file) ?? readFileSync(join(folder, file), 'utf8')
    sources.set(file, text)
    return text
  }
  // The tests of the Queue are in the files that the file of a driver calls.
  const shared = ['handler', 'idle-workers', 'undecodable', 'duplicates', 'connection-faults'].map(
    (name) => `test/queue/${name}.ts`,
  )
  for (const { way, ...cell } of cells) {
    if (way.by !== 'tests') continue
    const files = [...way.files, ...(way.files.some((file) => file.startsWith('test/queue/')) ? shared : [])]
    for (const alternative of way.names.split('|')) {
      // The name of a suite comes before that of its test.
      const pattern = new RegExp(alternative.split('.*').at(-1)!)
      assert.ok(
        files.some((file) => pattern.test(sourceOf(file))),
        `${cell.fault}/${cell.driver}: ${alternative}`,
      )
    }
  }
})

/** The cells of the rig that count this entry. */
const countedBy = (entry: object): string[] =>
  Object.entries(rigFaults).flatMap(([name, isOne]) =>
    isOne({ at: 0, by: 'supervisor', ...entry } as Entry) ? [name] : [],
  )

test('a fault of the rig belongs to its cell, and to no other one', () => {
  const crash = (by: string, point: string): string[] => countedBy({ what: 'crashing', by, point })
  assert.deepEqual(crash('worker-0.1', 'claim:applied:1'), ['K1'])
  assert.deepEqual(crash('worker-0.1', 'settle:before:1'), ['K2'])
  assert.deepEqual(crash('worker-0.1', 'outcomes:applied:2'), ['K2'])
  assert.deepEqual(crash('operator-0.1', 'pause:before:1'), ['K3'])
  assert.deepEqual(crash('producer-0.1', 'add:applied:1'), ['K4'])
  assert.deepEqual(crash('worker-0.1', 'add:applied:1'), ['K5'])
  assert.deepEqual(crash('worker-0.1', 'poison'), ['K8'])
  assert.deepEqual(countedBy({ what: 'stopped', process: 'worker-0.2' }), ['P1', 'P4'])
  assert.deepEqual(countedBy({ what: 'stopped', process: 'worker-1.2' }), ['P1'])
  assert.deepEqual(countedBy({ what: 'disturbed', slot: 'worker-0', fault: 'drop' }), ['N4'])
  assert.deepEqual(countedBy({ what: 'ready' }), [])
})

const clean: CellResult = { cell: 'K1/sqlite', by: 'rig', seed: 1, runs: 1, faults: 3, violations: [] }

test('the summary fails for a violation and for a cell without a fault, not for a skipped one', () => {
  assert.equal(summaryOf([clean]).verdict, 'pass')
  assert.equal(summaryOf([clean, { ...clean, violations: ['lost: a'] }]).verdict, 'fail')
  assert.deepEqual(summaryOf([{ ...clean, faults: 0 }]).untouched, ['K1/sqlite'])
  assert.equal(summaryOf([{ ...clean, faults: 0 }]).verdict, 'fail')
  assert.equal(summaryOf([{ ...clean, faults: 0, skipped: 'no strace' }]).verdict, 'pass')
  assert.equal(summaryOf(cells.map((cell) => ({ ...clean, cell: nameOf(cell), skipped: 'no time' }))).verdict, 'fail')
  assert.match(cellLine({ ...clean, faults: 0 }), /NO FAULT/)
})

test('the output of tests becomes counts; none of them, or an exit code, is a failure', () => {
  assert.deepEqual(resultOfTests('✔ a (1ms)\nℹ pass 2\nℹ fail 0\n', 0), { runs: 2, faults: 2, violations: [] })
  assert.deepEqual(resultOfTests('  ✖ b (1.5ms)\nℹ pass 1\nℹ fail 1\n', 1).violations, ['failed: b'])
  assert.equal(resultOfTests('', 1).violations.length, 1)
  assert.equal(resultOfTests('ℹ pass 0\nℹ fail 0\n', 0).faults, 0)
})

const cellsOf = (...names: readonly string[]): Cell[] => cells.filter((cell) => names.includes(nameOf(cell)))

test('the cells of the rig of one driver are a group, and every other cell is one', () => {
  const groups = groupsOf(cellsOf('K1/file', 'K2/file', 'K1/redis', 'T3/memory', 'D2/redis'))
  assert.deepEqual(
    groups.map((group) => group.map(nameOf)),
    [['K1/file', 'K2/file'], ['K1/redis'], ['D2/redis'], ['T3/memory']],
  )
})

test('each result is in the file as its cell ends; a later run of the same commit leaves it out, another one does not', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'matrix-test-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'matrix.json')
  new Results(file, 'abc').add([clean], { seconds: 1 })
  const again = new Results(file, 'abc')
  assert.ok(again.has('K1/sqlite') && !again.has('K2/sqlite'))
  again.add([{ ...clean, cell: 'K2/sqlite' }], { seconds: 1 })
  const written = JSON.parse(readFileSync(file, 'utf8')) as { summary: { cells: number } }
  assert.equal(written.summary.cells, 2)
  assert.ok(!new Results(file, 'def').has('K1/sqlite'))
  assert.equal(new Results(file, 'def').of(['K1/sqlite'])[0]!.commit, 'abc')
  const dirty = new Results(file, 'abc-dirty')
  dirty.add([clean], { seconds: 1 })
  assert.ok(!dirty.has('K1/sqlite'))
})

const runCode = (code: string, limitMs: number): Promise<CellResult[]> =>
  runGroup(cellsOf('K1/file', 'K2/file'), {
    seed: 1,
    seconds: 1,
    limitMs,
    start: () => spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }),
  })

const sentences = (results: readonly CellResult[]): string[] =>
  results.map(({ cell, violations }) => `${cell} ${violations[0]}`)

test('a cell that hangs, or that ends its process, has a result all the same', async () => {
  const [ended, late] = [await runCode('process.exit(3)', 60_000), await runCode('setInterval(() => {}, 1e6)', 60)]
  assert.deepEqual(sentences(ended), ['K1/file its process ended with 3', 'K2/file its process ended with 3'])
  assert.match(sentences(late)[0]!, /did not end within 0.001 minutes/)
})
