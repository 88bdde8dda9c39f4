// The table of docs/limits.md: Holdfast, what the backend allows (the contender `limit`) and the best peer, of one run per driver.

import type { Entry, Results, Row } from '../results.ts'
import { spreadOf } from '../statistics.ts'
import { bestPeer, limitOf, numeral, range, ratioOf } from '../summary.ts'

const [begin, end] = ['<!-- limit table: written by npm run bench:report -->', '<!-- end of limit table -->']

const nameOf = (row: Row): string => `${row.driver}: ${row.case}`

const hasLimit = ({ entries }: Row): boolean => entries.some(({ isLimit }) => isLimit)

/** The page with its table replaced. Without a run that has limits the page stays as it is. @throws if it has no place for it */
export function withLimitTable(page: string, all: readonly Results[]): string {
  // Of each driver and case the newest run counts, as in docs/benchmarks.md.
  const runs = all.filter(({ rows }) => rows.some(hasLimit)).toSorted((a, b) => (a.date < b.date ? 1 : -1))
  if (runs.length === 0) return page
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from === -1 || to === -1) throw new Error(`limits.md: expected "${begin}" and "${end}"`)
  const seen = new Set<string>()
  const sections = runs.flatMap((results) => {
    const rows = results.rows.filter((row) => hasLimit(row) && !seen.has(nameOf(row)))
    for (const row of rows) seen.add(nameOf(row))
    return rows.length > 0 ? [section(results, rows)] : []
  })
  return `${page.slice(0, from)}${begin}\n\n${sections.join('\n\n')}\n\n${page.slice(to)}`
}

function section(results: Results, rows: readonly Row[]): string {
  const { machine, rounds, date, command } = results
  const lines = rows
    .filter(({ unit, measure }) => unit === 'jobs/s' || measure === 'p50')
    .flatMap((row) => row.entries.filter(({ isPeer }) => !isPeer).flatMap((ours) => lineOf(ours, row, results)))
  return [
    `${machine.cores} cores (${machine.cpu}), Node ${machine.node}; ${rounds} rounds, medians; ${date.slice(0, 10)}; \`${command}\`.`,
    [
      '| | jobs/s, or p50 in ms | Holdfast | limit | of the limit | best peer | to the peer |',
      '|---|---|--:|--:|--:|--:|--:|',
      ...lines,
    ].join('\n'),
  ].join('\n\n')
}

const median = ({ values }: Entry): string => numeral(spreadOf(values).median)

/** Which way of the limit it is, if not the first (contenders/limit-*.ts). */
const wayOf = ({ contender }: Entry): string =>
  / (ahead|handed over)/.exec(contender)?.[0].replace(/ (.+)/, ' ($1)') ?? ''

function lineOf(ours: Entry, row: Row, results: Results): string[] {
  const limit = limitOf(ours, row, results)
  if (!limit || ours.invalid !== undefined) return []
  const peer = bestPeer(ours, row, results)
  const ratio = (other: Entry): string => {
    const spread = ratioOf(ours.values, other.values)
    return spread ? `${numeral(spread.median)} × (${range(spread)})` : '–'
  }
  const cells = [
    `${row.driver}: ${ours.contender}`,
    `${row.case}, ${row.variant}${row.unit === 'ms' ? ', p50 (ms)' : ''}`,
    median(ours),
    `${median(limit)}${wayOf(limit)}`,
    ratio(limit),
    peer ? `${median(peer)} (${peer.contender})` : '–',
    peer ? ratio(peer) : '–',
  ]
  return [`| ${cells.join(' | ')} |`]
}
