// npm run bench:isolation -- [--peers 1000] [--rounds 5] [--every 10000] [--runs 3] [--profile hardened] [--disk]
//
// Measures whether dead peers hurt the others: an activity to all peers every so often, with 30 % of them dead in five ways, and with none.
// Runs alternate. Exits with 0 if the p99 of the healthy peers is at most 1.5 times that of the runs without dead peers. That it is at most 1 s
// is told, and depends on the machine: one process serves all peers, and another one answers for them.

import { mkdirSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { newWorkingDirectory, removeDirectory } from '../place.ts'
import { thisMachine } from '../results.ts'
import { spreadOf } from '../statistics.ts'
import { type Isolation, measureIsolation } from './measure-isolation.ts'

const { values } = parseArgs({
  options: {
    peers: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '5' },
    every: { type: 'string', default: '10000' },
    runs: { type: 'string', default: '3' },
    profile: { type: 'string', default: 'hardened' },
    disk: { type: 'boolean', default: false },
  },
})
if (values.profile !== 'seed' && values.profile !== 'hardened') throw new Error('--profile: expected seed or hardened')
const profile: 'seed' | 'hardened' = values.profile
const [peers, rounds, everyMs, runs] = [values.peers, values.rounds, values.every, values.runs].map(Number)
const [most, mostMs] = [1.5, 1_000]
const [load] = loadavg()
const directory = newWorkingDirectory()
const measured: Readonly<Record<'none' | 'dead', Isolation[]>> = { none: [], dead: [] }
for (let run = 1; run <= runs!; run++) {
  for (const kind of ['none', 'dead'] as const) {
    console.error(`run ${run}: ${kind === 'none' ? 'no dead peers' : '30 % of the peers are dead'}`)
    const folder = values.disk ? join(directory, `${run}-${kind}`) : undefined
    if (folder !== undefined) mkdirSync(folder)
    const size = {
      profile,
      peers: peers!,
      deadOfTen: kind === 'none' ? 0 : 3,
      rounds: rounds!,
      everyMs: everyMs!,
      folder,
    }
    measured[kind].push(await measureIsolation(size))
  }
}
removeDirectory(directory)

const median = (kind: 'none' | 'dead', of: (one: Isolation) => number): number =>
  spreadOf(measured[kind].map(of)).median
const row = (kind: 'none' | 'dead'): string => {
  const cells = [
    (one: Isolation) => one.warmP50,
    (one: Isolation) => one.warmP99,
    (one: Isolation) => one.coldP99,
    (one: Isolation) => one.loopP99,
    (one: Isolation) => one.cpuUs,
  ].map((of) => {
    const { median: middle, min, max } = spreadOf(measured[kind].map(of))
    return `${Math.round(middle)} (${Math.round(min)} … ${Math.round(max)})`
  })
  const missing = measured[kind].reduce((sum, one) => sum + one.missing, 0)
  return `| ${kind === 'none' ? 'none' : '30 %'} | ${cells.join(' | ')} | ${missing} |`
}
const deadP99 = median('dead', ({ warmP99 }) => warmP99)
const ratio = deadP99 / median('none', ({ warmP99 }) => warmP99)
const { cores, cpu, node } = thisMachine()
console.log(
  [
    `${peers} peers, profile ${profile}, ${values.disk ? 'SQLite, synced' : 'memory'}; ${cores} cores, ${cpu}, Node ${node}, load average ${load?.toFixed(2)}; ${runs} runs of ${rounds} activities, one per ${everyMs! / 1_000} s; medians (min … max), ms`,
    '',
    '| dead peers | p50 | p99 | p99 of the first activity | p99 of the event loop | CPU per delivery (µs) | not arrived |',
    '|---|--:|--:|--:|--:|--:|--:|',
    row('none'),
    row('dead'),
    '',
    `p99 with dead peers / without: ${ratio.toFixed(2)} (at most ${most}): ${ratio <= most ? 'met' : 'missed'}`,
    `p99 with dead peers: ${Math.round(deadP99)} ms (at most ${mostMs}): ${deadP99 <= mostMs ? 'met' : 'missed'}`,
  ].join('\n'),
)
const missing = [...measured.none, ...measured.dead].some((one) => one.missing > 0)
process.exit(ratio <= most && !missing ? 0 : 1)
