// The results as a table on a terminal.

import type { Results } from './results.ts'
import { type Line, linesOf, numeral, range, titleOf } from './summary.ts'

const headings = ['measure', 'contender', 'median', 'unit', 'min … max', 'ratio', 'min … max', 'target', '']
const rightAligned = new Set([2, 4, 5, 6])

export function table({ rows }: Results): string {
  const cells = rows.flatMap((row) =>
    linesOf(row, rows).map((line, index) => [index === 0 ? titleOf(row) : '', ...cellsOf(line, row.unit)]),
  )
  const all = [headings, ...cells]
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  const lines = all.map((row) =>
    row
      .map((cell, column) => (rightAligned.has(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
      .join('  ')
      .trimEnd(),
  )
  return [lines[0]!, '─'.repeat(Math.max(...lines.map((line) => line.length))), ...lines.slice(1)].join('\n')
}

function cellsOf({ contender, spread, ratio, to, target, note }: Line, unit: string): string[] {
  const verdict = target?.isReached === undefined ? '' : target.isReached ? 'reached' : 'MISSED'
  return [
    contender,
    spread ? numeral(spread.median) : '–',
    unit,
    spread ? range(spread) : '',
    ratio ? `${numeral(ratio.median)} ×` : '',
    ratio ? range(ratio) : '',
    target ? `${target.text} ${verdict}`.trimEnd() : '',
    [ratio ? `to ${to}` : '', note ?? ''].filter(Boolean).join('; '),
  ]
}
