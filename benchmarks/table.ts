// The results as a table for the terminal.

import type { Results } from './results.ts'
import { type Comparison, type Line, linesOf, numeral, range, titleOf } from './summary.ts'

const headings = ['measure', 'contender', 'median', 'unit', 'min … max', 'ratio', 'min … max', 'target', '']
const rightAligned = new Set([2, 4, 5, 6])

export function table(results: Results): string {
  const cells = results.rows.flatMap((row) =>
    linesOf(row, results)
      .flatMap((line) => cellsOf(line, row.unit))
      .map((line, index) => [index === 0 ? titleOf(row) : '', ...line]),
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

/** One line, and one more for each further comparison. */
function cellsOf({ contender, spread, comparisons, note }: Line, unit: string): string[][] {
  const found = [contender, spread ? numeral(spread.median) : '–', unit, spread ? range(spread) : '']
  const [first = {}, ...further] = comparisons
  return [
    [...found, ...comparisonCells(first, note)],
    ...further.map((comparison) => [...found.map(() => ''), ...comparisonCells(comparison)]),
  ]
}

function comparisonCells({ ratio, to, target }: Comparison, note = ''): string[] {
  const verdict = target?.verdict === 'missed' ? 'MISSED' : (target?.verdict ?? '')
  return [
    ratio ? `${numeral(ratio.median)} ×` : '',
    ratio ? range(ratio) : '',
    target ? `${target.text} ${verdict}`.trimEnd() : '',
    [ratio ? `to ${to}` : '', note].filter(Boolean).join('; '),
  ]
}
