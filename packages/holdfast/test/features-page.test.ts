import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { featuresPage, problemsOf } from '../../../scripts/features/page.ts'
import { features, parts } from '../../../scripts/features/table.ts'
import { collectUses } from './requirements-page.ts'

test('docs/features.md is the table of the code: run npm run features -- --write', () => {
  assert.equal(readFileSync(new URL('../../../docs/features.md', import.meta.url), 'utf8'), featuresPage())
})

test('every feature of a finished part is built, and named by a case or test', () => {
  const named = collectUses().flatMap(({ ids }) => ids)
  const problems = features.flatMap((feature) =>
    problemsOf(feature, named.filter((id) => id === feature.id).length, parts[feature.part] === 'finished'),
  )
  assert.deepEqual(problems, [])
})

test('a feature that no test names, or that a finished part lacks, is found', () => {
  const feature = { id: 'F0', title: 'x', part: 'operating', status: 'built' } as const
  assert.equal(problemsOf(feature, 0, true).length, 1)
  assert.equal(problemsOf(feature, 1, true).length, 0)
  assert.equal(problemsOf({ ...feature, except: { file: 'partly' } }, 1, true).length, 1)
})
