// docs/benchmarks.md: the method, then for each driver its charts and one table per case.
// A driver may have several runs, of other cases each: every run says when and how it was made.

import { moreIsBetter } from '../case.ts'
import { cases } from '../cases/index.ts'
import type { Results, Row } from '../results.ts'
import { type Comparison, type Line, linesOf, numeral, range } from '../summary.ts'
import { chartsOf } from './charts.ts'

/** Drivers that are not named come last. */
const order = ['memory', 'sqlite', 'file', 'postgres', 'redis']

export function markdown(all: readonly Results[]): string {
  const drivers = [...Map.groupBy(all.flatMap(byDriver), ({ driver }) => driver)]
  const sections = drivers
    .toSorted(([a], [b]) => placeOf(a) - placeOf(b))
    .flatMap(([driver, runs]) => [`## ${driver}`, ...runs.map(({ results }) => run(results))])
  return `${[intro, ...sections].join('\n\n')}\n`
}

function placeOf(driver: string): number {
  const place = order.indexOf(driver)
  return place === -1 ? order.length : place
}

interface DriverResults {
  readonly driver: string
  readonly results: Results
}

function byDriver(results: Results): DriverResults[] {
  const { contenders, rows } = results
  return [...Map.groupBy(contenders, ({ driver }) => driver)]
    .map(([driver, own]) => ({
      driver,
      results: { ...results, contenders: own, rows: rows.filter((row) => row.driver === driver) },
    }))
    .filter(({ results: { rows: left } }) => left.length > 0)
}

const intro = `\
# Benchmarks

<!-- Written by npm run bench:report. -->

Holdfast and its peers, measured in one run. Each measurement runs in its own process, the contenders alternate in every round, and
the tables show the median of the rounds with its range.

- **Read the ratios, not the figures:** another machine gives other figures.
- A ratio compares Holdfast with the best peer of the same durability (full: accepted jobs survive a power cut; relaxed: the end of every
  process), or with the named peer. Its range is that of the single rounds.
- **limit** is the smallest program on the raw client that makes the same durable moves, in up to three ways; the best one counts. A goal against a peer
  that lies above it is marked, and the goal against the limit decides.
- A result counts only if every job ran exactly once. Handlers do nothing; payloads are about 100 bytes of JSON.
- CPU is the sum over all threads of all processes, without servers.

Run it yourself: \`npm run bench -- --help\`. Missed targets are explained in [Performance limits](limits.md).`

function run(results: Results): string {
  const { contenders, rows, date, command, machine, rounds, limits } = results
  const setup = contenders.map(
    ({ name, version, durability, configuration }) =>
      `- **${name}** ${version}${durability === undefined ? '' : ` (${durability})`}: ${configuration}`,
  )
  const isOnDisk = contenders.some(({ durability }) => durability !== undefined)
  const disk = isOnDisk && results.disk !== undefined ? `; on disk: ${results.disk}` : ''
  const parts = cases.filter(({ name }) => rows.some((row) => row.case === name))
  return [
    `${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, ${machine.platform}, Node ${machine.node}${disk}; ` +
      `${rounds} ${rounds === 1 ? 'round' : 'rounds'}, ${limits.jobs.toLocaleString('en')} jobs or ${limits.seconds} s; ${date.slice(0, 10)}; ` +
      `\`${command}\`.`,
    setup.join('\n'),
    ...parts.map(({ name, about }) => caseSection(results, name, about)),
  ].join('\n\n')
}

function caseSection(results: Results, name: string, about: string): string {
  const charts = chartsOf(results).filter((chart) => chart.case === name)
  const images = charts.map(({ title, file }) => `![${title}](benchmarks/${file})`)
  const rows = results.rows.filter((row) => row.case === name)
  return [`### ${name}`, about, ...images, table(rows, results)].join('\n\n')
}

const heading = `\
| | contender | median | min … max | ratio | min … max | target |
|---|---|--:|--:|--:|--:|---|`

function table(rows: readonly Row[], results: Results): string {
  const lines = rows.flatMap((row) =>
    linesOf(row, results)
      .flatMap(cellsOf)
      .map((line, index) => `| ${[index === 0 ? labelOf(row) : '', ...line].join(' | ')} |`),
  )
  return [heading, ...lines].join('\n')
}

function labelOf({ case: name, variant, measure, unit }: Row): string {
  const what = measure === name ? variant : `${variant}, ${measure}`
  return `${what} (${unit}, ${moreIsBetter(unit) ? 'more' : 'less'} is better)`
}

/** One line, and one more for each further comparison. */
function cellsOf({ contender, spread, comparisons, note }: Line): string[][] {
  const who = note ? `${contender} (${note})` : contender
  const found = [who, spread ? numeral(spread.median) : '–', spread ? range(spread) : '']
  const [first = {}, ...further] = comparisons
  return [
    [...found, ...comparisonCells(first)],
    ...further.map((comparison) => [...found.map(() => ''), ...comparisonCells(comparison)]),
  ]
}

function comparisonCells({ ratio, to, target }: Comparison): string[] {
  const verdict = target?.verdict === 'missed' ? '**missed**' : target?.verdict
  return [
    ratio ? `${numeral(ratio.median)} × ${to}` : '',
    ratio ? range(ratio) : '',
    target ? [target.text, ...(verdict === undefined ? [] : [verdict])].join(', ') : '',
  ]
}
