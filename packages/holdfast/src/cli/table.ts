// Tables for people. They fit the width of the terminal: columns of text are cut, the longest first, columns of numbers never.

import { cut, escaped, type Part, type Style, widthOf } from './text.ts'

export interface Column<Row> {
  readonly title: string
  /** Numbers are aligned to the right, and never cut. */
  readonly kind?: 'number' | 'text'
  of(row: Row): string
  style?(row: Row): Style | undefined
}

const gap = '  '
const leastWidth = 6

/** @param width Infinity: nothing is cut @returns the lines, the titles first */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], width: number): Part[][] {
  const cells = rows.map((row) => columns.map((column) => escaped(column.of(row))))
  const widths = widthsOf(columns, cells, width)
  const line = (texts: readonly string[], styleOf: (index: number) => Style | undefined): Part[] =>
    texts.flatMap((text, index) => {
      const isLast = index === columns.length - 1
      const fitted = padded(cut(text, widths[index]!), widths[index]!, columns[index]!.kind === 'number', isLast)
      const style = styleOf(index)
      const part: Part = style ? { text: fitted, style } : fitted
      return isLast ? [part] : [part, gap]
    })
  return [
    line(
      columns.map(({ title }) => title),
      () => 'dim',
    ),
    ...cells.map((texts, row) => line(texts, (index) => columns[index]!.style?.(rows[row]!))),
  ]
}

function widthsOf<Row>(columns: readonly Column<Row>[], cells: readonly string[][], width: number): number[] {
  const widths = columns.map(({ title }, index) =>
    Math.max(widthOf(title), ...cells.map((texts) => widthOf(texts[index]!))),
  )
  let over = widths.reduce((sum, one) => sum + one, 0) + gap.length * (columns.length - 1) - width
  while (over > 0) {
    // The longest column of text gives way, down to the next longest.
    const texts = widths.flatMap((one, index) =>
      columns[index]!.kind !== 'number' && one > leastWidth ? [{ index, width: one }] : [],
    )
    if (texts.length === 0) break
    const [longest, next] = texts.toSorted((a, b) => b.width - a.width)
    const by = Math.max(1, Math.min(over, longest!.width - Math.max(leastWidth, next?.width ?? leastWidth)))
    widths[longest!.index]! -= by
    over -= by
  }
  return widths
}

function padded(text: string, width: number, toTheRight: boolean, isLast: boolean): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)))
  if (toTheRight) return space + text
  return isLast ? text : text + space
}
