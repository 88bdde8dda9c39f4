import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectUses, readRequirements } from './requirements-page.ts'

const rows = readRequirements()
const uses = collectUses()

test('the page has rows, and cases, tests and lint rules name them', () => {
  assert.ok(rows.length > 200, `${rows.length} rows`)
  const kinds = [/^packages\/conformance\/src\//, /^packages\/.*\/test\//, /^\.oxlintrc\.json$/]
  for (const kind of kinds)
    assert.ok(
      uses.some(({ file, ids }) => kind.test(file) && ids.length > 0),
      String(kind),
    )
})

test('every id that a case, a test or a lint rule names has a row', () => {
  const known = new Set(rows.map(({ id }) => id))
  const unknown = uses.flatMap(({ file, name, ids }) =>
    ids.filter((id) => !known.has(id)).map((id) => `${id} in ${file}: ${name}`),
  )
  assert.deepEqual(unknown, [])
})

test('every row is named by a case, a test or a lint rule', () => {
  const named = new Set(uses.flatMap(({ ids }) => ids))
  assert.deepEqual(
    rows.map(({ id }) => id).filter((id) => !named.has(id)),
    [],
  )
})

test('no id has two rows, and every row is one sentence', () => {
  const ids = rows.map(({ id }) => id)
  assert.deepEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
  )
  assert.deepEqual(
    rows.filter(({ text }) => !/^[A-Z`][^|]*[^.]\.$/.test(text)).map(({ id }) => id),
    [],
  )
})
