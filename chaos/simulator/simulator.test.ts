// A slice of the simulator for each commit: stored seeds, some new ones, two runs of the same seeds, and some planted defects.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFull } from '../../packages/holdfast/test/full-size.ts'
import { defects } from './defects/index.ts'
import { findDefect } from './find-defect.ts'
import { hashOfHistory, runSeed } from './run-seed.ts'
import { shrink } from './shrink.ts'
import { storedSeeds } from './stored-seeds.ts'

test('the stored seeds break no invariant', async () => {
  for (const { seed, found, ...reduction } of storedSeeds()) {
    const { violations } = await runSeed(seed, reduction)
    assert.deepEqual(violations, [], `seed ${seed} (${found})`)
  }
})

test('new seeds break no invariant', async () => {
  for (let seed = 1; seed <= (isFull ? 2_000 : 30); seed++) {
    const { violations } = await runSeed(seed)
    assert.deepEqual(violations, [], `npm run simulate -- --seed ${seed}`)
  }
})

test('a seed gives the same history, byte by byte, in every run', async () => {
  for (let seed = 1; seed <= (isFull ? 200 : 10); seed++) {
    const [first, second] = [await runSeed(seed), await runSeed(seed)]
    assert.ok(first.history.entries.length > 20, `seed ${seed} has a history`)
    assert.equal(hashOfHistory(first.history), hashOfHistory(second.history), `seed ${seed}`)
  }
})

test('planted defects are found', async () => {
  const names = ['settle-by-id', 'lost-add', 'taken-too-soon', 'early-add', 'repeat-refused']
  const planted = isFull ? defects : defects.filter(({ name }) => names.includes(name))
  for (const defect of planted) {
    const { seeds } = await findDefect(defect, 1, 2_000)
    assert.ok(seeds !== undefined, defect.name)
  }
})

test('a violation is made smaller', async () => {
  const defect = defects.find(({ name }) => name === 'lost-add')!
  const { seed } = await findDefect(defect, 1, 100)
  const run = await runSeed(seed!, {}, defect)
  const { reduction, run: smallest } = await shrink(run, defect)
  assert.ok(smallest.violations.length > 0)
  assert.ok(smallest.setup.operations < run.setup.operations || (reduction.without ?? []).length > 10)
})
