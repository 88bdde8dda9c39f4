import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { collectUses, readRequirements } from '../requirements-page.ts'

const read = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8')

test('every requirement of the Queue is named by a test, not by a conformance case alone', () => {
  const tests = collectUses().filter(({ file }) => !file.includes('/src/'))
  const named = new Set(tests.flatMap(({ ids }) => ids))
  const rows = readRequirements().filter(({ id }) => /^(?:Q\d+\.\d+|trap \d+)$/.test(id))
  assert.ok(rows.length > 100, `${rows.length} rows`)
  assert.deepEqual(
    rows.filter(({ id }) => !named.has(id)).map(({ id, text }) => `${id}: ${text}`),
    [],
  )
})

test('every suite that is made for a driver is among those that each driver runs', () => {
  const suites = read('suites.ts')
  const forDrivers = globSync('*.ts', { cwd: new URL('.', import.meta.url) }).flatMap((file) =>
    [...read(file).matchAll(/^export function (\w+)\(driver: TestDriver\)/gm)].map(([, name]) => name!),
  )
  assert.ok(forDrivers.length > 0)
  assert.deepEqual(
    forDrivers.filter(
      (name) =>
        !['queueTests', 'otherWayTests', 'poolerTests'].includes(name) && !suites.includes(`\n  ${name}(driver)`),
    ),
    [],
  )
})
