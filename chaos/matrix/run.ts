// npm run chaos:matrix: the fault matrix, cell by cell. See --help.

import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { commitOf } from '../report.ts'
import { cells } from './cells.ts'
import { faultNames, matrixDrivers } from './faults.ts'
import { groupsOf } from './groups.ts'
import { cellLine, listing, summaryLine, summaryOf } from './matrix-table.ts'
import { Results } from './results.ts'
import { nameOf } from './run-cell.ts'
import { runGroup } from './run-group.ts'

const help = `\
npm run chaos:matrix -- [options]

  --driver <list>    ${matrixDrivers.join(', ')}              default: all
  --fault <list>     such as K1,D4                                             default: all
  --by <list>        rig, scenario, tests, nothing                             default: all
  --seconds <n>      of each run of the rig; scenarios take about as long       default 60
  --seed <n>                                                                   default: the time
  --minutes <n>      time limit of each cell, or of each run of the rig           default 15
  --json <file>      writes each result as its cell ends. Cells of which the file has a result of this commit are not run again
  --again            runs them again
  --list             prints the cells and how each is run

Exit 0: every cell ran with a fault and without a violation, or is skipped by name. 1: not so. 2: it could not run.
`

const text = { type: 'string' } as const
const { values } = parseArgs({
  options: {
    driver: text,
    fault: text,
    by: text,
    seconds: { ...text, default: '60' },
    seed: text,
    minutes: { ...text, default: '15' },
    json: text,
    again: { type: 'boolean' },
    list: { type: 'boolean' },
    help: { type: 'boolean' },
  },
})

if (values.help) console.log(help)
else if (values.list) console.log(listing())
else process.exitCode = await run()
process.exit()

async function run(): Promise<number> {
  const chosen = cells
    .filter(({ driver }) => isIn(values.driver, driver, matrixDrivers))
    .filter(({ fault }) => isIn(values.fault, fault, faultNames))
    .filter(({ way }) => isIn(values.by, way.by, ['rig', 'scenario', 'tests', 'nothing']))
  if (chosen.length === 0) {
    console.error(`no such cell\n\n${help}`)
    return 2
  }
  const seed = values.seed === undefined ? Math.floor(Date.now() / 1_000) : Number(values.seed)
  const seconds = Number(values.seconds)
  const done = new Results(values.json && resolve(values.json), commitOf())
  const left = chosen.filter((cell) => values.again || !done.has(nameOf(cell)))
  if (left.length < chosen.length) console.log(`${chosen.length - left.length} cells have a result of this commit`)
  for (const group of groupsOf(left)) {
    const results = await runGroup(group, { seed, seconds, limitMs: Number(values.minutes) * 60_000 })
    done.add(results, { seconds })
    console.log(results.map(cellLine).join('\n'))
  }
  const results = done.of(chosen.map(nameOf))
  const summary = summaryOf(results)
  console.log(`\n${results.map(cellLine).join('\n')}\n\n${summaryLine(summary)}`)
  return summary.verdict === 'pass' ? 0 : 1
}

/** @throws Error for a word that is none of the known ones */
function isIn(given: string | undefined, name: string, known: readonly string[]): boolean {
  const words = given?.split(',')
  const unknown = words?.find((word) => !known.includes(word))
  if (unknown !== undefined) throw new Error(`expected some of ${known.join(', ')}, got "${unknown}"`)
  return words?.includes(name) ?? true
}
