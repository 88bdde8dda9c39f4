// npm run model:exhaustive: every reachable state of a small model of claim, extend, settle, recover, cancel, revive and add.
// Arguments: names of sizes (sizes.ts); all of them without any. Exit 0: no violation, and a counterexample for every broken rule.

import { brokenRules } from './broken-rules.ts'
import { explore } from './explore.ts'
import { linesOf } from './print-trace.ts'
import { replay } from './replay.ts'
import { searched, sizes } from './sizes.ts'
import { soundRules } from './storage-rules.ts'

/** Traces of a size that are replayed on the memory driver. */
const replays = 2_000

const names = process.argv.slice(2)
for (const [name, size] of Object.entries(sizes)) {
  if (names.length > 0 && !names.includes(name)) continue
  const startedAt = performance.now()
  const explored = explore(size, soundRules, Infinity, (states) => {
    if (states % 500_000 === 0) console.log(`${name}: ${states} states so far`)
  })
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  const { states, transitions, depth, counterexample } = explored
  console.log(`${name}: states=${states} transitions=${transitions} depth=${depth} seconds=${seconds}`)
  if (counterexample) fail([...linesOf(counterexample.trace), ...counterexample.violations])
  const every = Math.max(1, Math.floor(states / replays))
  let replayed = 0
  for (let state = states - 1; state > 0 && !counterexample; state -= every) {
    const trace = explored.traceTo(state)
    const differs = await replay(trace, size.jobs)
    replayed++
    if (differs.length > 0) {
      fail([...linesOf(trace), ...differs])
      break
    }
  }
  console.log(`${name}: ${replayed} traces replayed on the memory driver`)
}
for (const [name, rules] of Object.entries(brokenRules)) {
  const { counterexample, states } = explore(searched, rules)
  if (!counterexample) fail([`${name}: no counterexample in ${states} states`])
  else console.log([`${name}: ${counterexample.violations[0]}`, ...linesOf(counterexample.trace)].join('\n'))
}

function fail(lines: readonly string[]): void {
  console.log(lines.join('\n'))
  process.exitCode = 1
}
