// The exhaustive model at a small size; npm run model:exhaustive has the larger ones.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brokenRules } from './broken-rules.ts'
import { explore } from './explore.ts'
import { replay } from './replay.ts'
import { searched, sizes } from './sizes.ts'
import { soundRules } from './storage-rules.ts'

for (const size of ['small', 'ahead'] as const) {
  test(`${size}: no reachable state breaks an invariant, and the memory driver agrees`, async () => {
    const { states, counterexample, traceTo } = explore(sizes[size], soundRules)
    assert.deepEqual(counterexample, undefined)
    assert.ok(states > 1_000, `${states} states`)
    const every = Math.ceil(states / 250)
    for (let state = 1; state < states; state += every) assert.deepEqual(await replay(traceTo(state), 1), [])
  })
}

for (const [name, rules] of Object.entries(brokenRules)) {
  test(`broken rule, ${name}: there is a counterexample`, () => {
    const { counterexample } = explore(searched, rules, 100_000)
    assert.ok(counterexample)
  })
}
