// One chart per driver, case and unit, so that the bars share an axis.

import type { Unit } from '../case.ts'
import type { Results, Row } from '../results.ts'
import { barChart } from './bar-chart.ts'

export interface Chart {
  /** File name in docs/benchmarks/. */
  readonly file: string
  readonly driver: string
  readonly case: string
  readonly title: string
  readonly svg: string
}

/** Units with charts; other units are only in the table. */
const charted: ReadonlySet<Unit> = new Set<Unit>(['jobs/s', 'µs', 'bytes/job'])

export function chartsOf({ rows }: Results): Chart[] {
  const groups = Map.groupBy(
    rows.filter(({ unit }) => charted.has(unit)),
    ({ driver, case: name, unit }) => `${driver} ${name} ${unit}`,
  )
  return [...groups.values()].map((group) => {
    const { driver, case: name, unit } = group[0]!
    const title = `${driver}: ${name}, ${unit}`
    const file = `${driver}-${name}-${unit}.svg`.replace('µs', 'us').replaceAll('/', '-per-')
    return { file, driver, case: name, title, svg: barChart(title, group.map(barsOf)) }
  })
}

function barsOf({ case: name, variant, measure, entries }: Row) {
  const counted = entries.filter(({ invalid }) => invalid === undefined)
  return {
    label: measure === name || measure === 'throughput' ? variant : `${variant}, ${measure}`,
    bars: counted.map(({ contender, isPeer, values }) => ({ name: contender, isOurs: !isPeer, values })),
  }
}
