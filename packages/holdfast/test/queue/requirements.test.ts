import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { coverage, namedTests } from './coverage.ts'
import { requirements } from './requirements.ts'

const read = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8')

test('every requirement has a test that names it', () => {
  const bare = coverage().filter(({ tests }) => tests.length === 0)
  assert.deepEqual(
    bare.map(({ requirement: { id, title } }) => `${id}: ${title}`),
    [],
  )
})

test('every number in the name of a test is one of a requirement, and no requirement is listed twice', () => {
  const known = new Set(requirements.map(({ id }) => id))
  assert.equal(known.size, requirements.length)
  const unknown = namedTests().flatMap(({ file, numbers }) =>
    numbers.filter((id) => !known.has(id)).map((id) => `${id} in ${file}`),
  )
  assert.deepEqual(unknown, [])
})

test('all tests that are made for a driver are among those that each driver runs', () => {
  const suites = read('suites.ts')
  const forDrivers = globSync('*.ts', { cwd: new URL('.', import.meta.url) }).flatMap((file) =>
    [...read(file).matchAll(/^export function (\w+)\(driver: TestDriver\)/gm)].map(([, name]) => name!),
  )
  assert.ok(forDrivers.length > 0)
  assert.deepEqual(
    forDrivers.filter(
      (name) => !['queueTests', 'otherWayTests'].includes(name) && !suites.includes(`\n  ${name}(driver)`),
    ),
    [],
  )
})
