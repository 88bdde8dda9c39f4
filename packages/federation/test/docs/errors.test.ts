// docs/federation/errors.md has the codes of errors.ts and refusal.ts, and every code is used.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { federationErrorCodes } from '../../src/errors.ts'
import { refusalStatus } from '../../src/inbound/refusal.ts'

const root = new URL('../../../../', import.meta.url)
const page = readFileSync(new URL('docs/federation/errors.md', root), 'utf8')
const table = page.slice(page.indexOf('| code |'), page.indexOf('"Ends the delivery"'))
const rows = [...table.matchAll(/^\| `([A-Z_]+)` \| (.*?) \| (.*?) \|$/gm)].map(([, code, when]) => [code, when])

test('the page has every code of errors.ts, in the same words and order, and no other', () => {
  assert.deepEqual(rows, Object.entries(federationErrorCodes))
})

test('the page has every refusal of the receiving side with its status, and no other', () => {
  const refusals = page.slice(page.indexOf('## Refusals'))
  const shown = [...refusals.matchAll(/^\| `([A-Z_]+)` \| (\d+) \|/gm)].map(([, code, status]) => [
    code,
    Number(status),
  ])
  assert.deepEqual(shown, Object.entries(refusalStatus))
})

test('every code is used', () => {
  const folder = new URL('packages/federation/src/', root)
  const sources = globSync('**/*.ts', { cwd: folder })
    .filter((file) => file !== 'errors.ts')
    .map((file) => readFileSync(new URL(file, folder), 'utf8'))
    .join('\n')
  const dead = Object.keys(federationErrorCodes).filter((code) => !sources.includes(`'${code}'`))
  assert.deepEqual(dead, [])
  const deadRefusals = Object.keys(refusalStatus).filter((code) => !sources.includes(`'${code}'`))
  assert.deepEqual(deadRefusals, [])
})
