// Codes in SQL come from their tables: no statement of this driver contains a number for a state, a kind or a place (`ready`).

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../src/storage/postgres', import.meta.url))
const literal = /\b(?:state|kind|ready)\b(?: \+ 0)? (?:=|<|>|<=|>=|IN|THEN|ELSE) \(?\d/g

test('no source of the driver compares a code with a literal number', () => {
  const files = globSync('**/*.ts', { cwd: root })
  assert.ok(files.length > 40)
  const found = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(literal)].map(([text]) => `${file}: ${text}`),
  )
  assert.deepEqual(found, [])
  assert.match('j.state + 0 = 3', literal)
})
