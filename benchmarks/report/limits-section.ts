// The section of docs/rate-limits.md with the results of the case limits.

import type { Results, Row } from '../results.ts'
import { spreadOf } from '../statistics.ts'
import { numeral, range } from '../summary.ts'

/** One table per variant: its title, and what its measures are called there. */
const tables = [
  { variant: 'concurrency 3', title: 'Three jobs at a time', most: 'most at once', last: 'throughput' },
  { variant: '1 per group', title: 'One job of each of 50 groups', most: 'most at once', last: 'throughput' },
  { variant: 'rate 100 per s', title: '100 starts per second', most: 'most starts in 1 s', last: 'share used' },
] as const

const [begin, end] = ['<!-- limits: written by npm run bench:report -->', '<!-- end of limits -->']

export const isOfLimits = ({ rows }: Results): boolean => rows.some((row) => row.case === 'limits')

/** The page with its section replaced. @throws if the page has no place for it */
export function withLimits(page: string, results: Results): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from === -1 || to === -1) throw new Error(`rate-limits.md: expected "${begin}" and "${end}"`)
  return `${page.slice(0, from)}${begin}\n\n${section(results)}\n\n${page.slice(to)}`
}

function section(results: Results): string {
  const { machine, rounds, limits, date, command } = results
  const run =
    `${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, Node ${machine.node}; ${rounds} rounds of ${limits.seconds} s; ` +
    `${date.slice(0, 10)}; \`${command}\`.`
  return [run, ...tables.map((each) => table(each, results))].join('\n\n')
}

function table({ variant, title, most, last }: (typeof tables)[number], results: Results): string {
  const rows = results.rows.filter((row) => row.variant === variant)
  const drivers = [...new Set(rows.map(({ driver }) => driver))]
  const unit = rows.find(({ measure }) => measure === last)?.unit
  const lines = drivers.flatMap((driver) => {
    const find = (measure: string): Row | undefined =>
      rows.find((row) => row.driver === driver && row.measure === measure)
    const valuesOf = (measure: string, contender: string): readonly number[] =>
      find(measure)?.entries.find((entry) => entry.contender === contender)?.values ?? []
    return (find(most)?.entries ?? []).map(({ contender, note = '', invalid }) => {
      const { version } = results.contenders.find((each) => each.driver === driver && each.name === contender)!
      const pace = spreadOf(valuesOf(last, contender))
      const cells =
        invalid === undefined
          ? [
              String(Math.max(...valuesOf(most, contender))),
              String(valuesOf('over the limit', contender).reduce((sum, value) => sum + value, 0)),
              `${numeral(pace.median)} (${range(pace)})`,
            ]
          : ['–', '–', `invalid: ${invalid}`]
      return `| ${[`${contender} ${version}`, driver, ...cells, note].join(' | ')} |`
    })
  })
  return [
    `**${title}**`,
    [
      `| contender | storage | ${most} | starts over the limit | ${last}, ${unit} | how it is set |`,
      '|---|---|--:|--:|--:|---|',
      ...lines,
    ].join('\n'),
  ].join('\n\n')
}
