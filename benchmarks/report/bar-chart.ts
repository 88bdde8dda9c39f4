// Horizontal bars as SVG: the median as the bar, the range of the rounds as a line across its end.

import { spreadOf } from '../statistics.ts'
import { numeral } from '../summary.ts'

export interface BarGroup {
  readonly label: string
  readonly bars: readonly { readonly name: string; readonly isOurs: boolean; readonly values: readonly number[] }[]
}

const width = 860
const labelWidth = 300
const valueWidth = 90
const barHeight = 16
const groupGap = 12
const top = 62
const ours = ['#1f6f8b', '#6fb1c7']
const theirs = ['#b8b8b8', '#8f8f8f', '#d0c4a8', '#a8b8a0', '#c8a8a8']

export function barChart(title: string, groups: readonly BarGroup[]): string {
  const all = groups.flatMap(({ bars }) => bars)
  const colors = new Map([...colored(all, true, ours), ...colored(all, false, theirs)])
  const colorOf = (name: string): string => colors.get(name)!
  const longest = Math.max(...groups.flatMap(({ bars }) => bars.map(({ values }) => spreadOf(values).max)), 0)
  const scale = longest === 0 ? 0 : (width - labelWidth - valueWidth) / longest
  const parts: string[] = []
  let y = top
  for (const { label, bars } of groups) {
    const middle = y + (bars.length * barHeight) / 2 + 4
    parts.push(text(labelWidth - 10, middle, label, 'end'))
    for (const { name, values } of bars) {
      parts.push(bar(y, spreadOf(values), scale, colorOf(name)))
      y += barHeight
    }
    y += groupGap
  }
  const height = y + 8
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" \
font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="${escape(title)}">
<rect width="${width}" height="${height}" fill="#ffffff"/>
<text x="16" y="24" font-size="15" font-weight="600" fill="#222222">${escape(title)}</text>
${legend(groups, colorOf)}
${parts.join('\n')}
</svg>
`
}

function colored(bars: BarGroup['bars'], areOurs: boolean, colors: readonly string[]): [string, string][] {
  const names = new Set(bars.filter(({ isOurs }) => isOurs === areOurs).map(({ name }) => name))
  return [...names].map((name, index) => [name, colors[index % colors.length]!])
}

function bar(y: number, spread: { median: number; min: number; max: number }, scale: number, color: string): string {
  const [length, from, to] = [spread.median, spread.min, spread.max].map((value) => place(value * scale))
  const middle = y + barHeight / 2
  return `<rect x="${labelWidth}" y="${y + 1}" width="${length}" height="${barHeight - 2}" fill="${color}"/>
<line x1="${labelWidth + from!}" y1="${middle}" x2="${labelWidth + to!}" y2="${middle}" stroke="#444444"/>
${text(labelWidth + to! + 6, y + barHeight - 4, numeral(spread.median), 'start')}`
}

function legend(groups: readonly BarGroup[], colorOf: (name: string) => string): string {
  const names = [...new Set(groups.flatMap(({ bars }) => bars.map(({ name }) => name)))]
  let x = 16
  return names
    .map((name) => {
      const mark = `<rect x="${x}" y="36" width="12" height="12" fill="${colorOf(name)}"/>`
      const label = text(x + 18, 46, name, 'start')
      x += 40 + name.length * 7
      return `${mark}\n${label}`
    })
    .join('\n')
}

function text(x: number, y: number, content: string, anchor: 'start' | 'end'): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="#333333">${escape(content)}</text>`
}

const place = (value: number): number => Math.round(value * 10) / 10

const escape = (raw: string): string => raw.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
