// The picture of the README: Holdfast with its default durability beside the best peer of the same durability, per driver. Each group
// has its own scale, because a file and a memory do not compare.

import type { Entry, Results, Row } from '../results.ts'
import { spreadOf } from '../statistics.ts'
import { bestPeer, numeral } from '../summary.ts'

const drivers = ['memory', 'sqlite', 'file', 'postgres', 'redis']
const shown = [
  { title: 'Jobs run per second (concurrency 100)', case: 'drain', variant: 'concurrency 100', measure: 'drain' },
  {
    title: 'Jobs added per second (100 calls in flight)',
    case: 'add',
    variant: 'single adds, 100 in flight',
    measure: 'add',
  },
] as const

const [width, columnWidth, labelWidth, barWidth, barHeight, groupGap, top] = [860, 430, 76, 130, 18, 12, 58]
const [ours, theirs] = ['#1f6f8b', '#b8b8b8']

interface Pair {
  readonly driver: string
  /** Of its run. */
  readonly date: string
  readonly ours: Entry
  readonly peer: Entry
}

/** undefined: no driver was measured beside peers. @param all the newest first: of each driver and case the first counts */
export function overview(all: readonly Results[]): string | undefined {
  const columns = shown.map((each) => ({ ...each, pairs: drivers.flatMap((driver) => pairOf(all, driver, each)) }))
  const most = Math.max(...columns.map(({ pairs }) => pairs.length))
  if (most === 0) return undefined
  const height = top + most * (2 * barHeight + groupGap) + 30
  const parts = columns.flatMap(({ title, pairs }, column) => [
    text(column * columnWidth + 16, 26, title, 'font-size="14" font-weight="600"'),
    ...pairs.map((pair, index) => group(pair, column * columnWidth + 16, top + index * (2 * barHeight + groupGap))),
  ])
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" \
font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="${shown.map(({ title }) => title).join('; ')}">
<rect width="${width}" height="${height}" fill="#ffffff"/>
${parts.join('\n')}
${text(
  16,
  height - 12,
  footer(
    columns.flatMap(({ pairs }) => pairs),
    all[0]!,
  ),
  'font-size="11"',
)}
</svg>
`
}

function pairOf(all: readonly Results[], driver: string, place: Pick<Row, 'case' | 'variant' | 'measure'>): Pair[] {
  for (const results of all) {
    const row = results.rows.find(
      (each) =>
        each.driver === driver &&
        each.case === place.case &&
        each.variant === place.variant &&
        each.measure === place.measure,
    )
    const own = row?.entries.find(({ contender, invalid }) => contender === 'holdfast' && invalid === undefined)
    const peer = own && bestPeer(own, row!, results)
    if (own && peer) return [{ driver, date: results.date.slice(0, 10), ours: own, peer }]
  }
  return []
}

function group({ driver, ours: own, peer }: Pair, x: number, y: number): string {
  const [a, b] = [spreadOf(own.values).median, spreadOf(peer.values).median]
  const longest = Math.max(a, b)
  const bar = (value: number, name: string, at: number, color: string): string => {
    const length = Math.max(1, Math.round((value / longest) * barWidth))
    return `<rect x="${x + labelWidth}" y="${at + 1}" width="${length}" height="${barHeight - 3}" fill="${color}"/>
${text(x + labelWidth + length + 6, at + barHeight - 5, `${numeral(value)} ${name}`)}`
  }
  return [
    text(x, y + barHeight + 4, driver, 'font-weight="600"'),
    bar(a, 'Holdfast', y, ours),
    bar(b, peer.contender, y + barHeight, theirs),
  ].join('\n')
}

function footer(pairs: readonly Pair[], { machine }: Results): string {
  const dates = pairs.map(({ date }) => date).toSorted()
  const [first, last] = [dates[0]!, dates.at(-1)!]
  return (
    `Best peer of the same durability in the same run; medians of rounds; each pair has its own scale. ` +
    `${machine.cores} cores, ${first === last ? first : `${first} to ${last}`}`
  )
}

function text(x: number, y: number, content: string, attributes = ''): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text x="${x}" y="${y}" fill="#333333" ${attributes}>${escaped}</text>`
}
