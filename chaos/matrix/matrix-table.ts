// The matrix as it is printed: a line for each cell, and what it comes to.

import { cells } from './cells.ts'
import { faults } from './faults.ts'
import { type CellResult, nameOf } from './run-cell.ts'

/** A share of skipped cells above which the matrix proves too little. */
const mostSkipped = 0.1

export interface MatrixSummary {
  readonly cells: number
  readonly skipped: number
  readonly faults: number
  readonly violations: number
  /** Cells that ran and had no fault. */
  readonly untouched: readonly string[]
  readonly verdict: 'pass' | 'fail'
}

export function summaryOf(results: readonly CellResult[]): MatrixSummary {
  const skipped = results.filter((result) => result.skipped !== undefined)
  const untouched = results
    .filter((result) => result.skipped === undefined && result.faults === 0)
    .map(({ cell }) => cell)
  const violations = results.filter((result) => result.violations.length > 0).length
  const isFew = skipped.length > mostSkipped * Math.max(1, results.length) && results.length === cells.length
  return {
    cells: results.length,
    skipped: skipped.length,
    faults: results.reduce((sum, result) => sum + result.faults, 0),
    violations,
    untouched,
    verdict: violations === 0 && untouched.length === 0 && !isFew ? 'pass' : 'fail',
  }
}

export function cellLine({ cell, by, runs, faults: injected, violations, skipped, note }: CellResult): string {
  if (skipped !== undefined) return `${cell.padEnd(12)} skipped: ${skipped}`
  const what =
    violations.length === 0 ? '0 violations' : `${violations.length} VIOLATIONS: ${violations.slice(0, 3).join(' | ')}`
  const untouched = injected === 0 && violations.length === 0 ? ' NO FAULT' : ''
  return `${cell.padEnd(12)} ${by}: runs ${runs}, faults ${injected}${untouched}, ${what}${note ? ` (${note})` : ''}`
}

export function summaryLine({
  cells: all,
  skipped,
  faults: injected,
  violations,
  untouched,
  verdict,
}: MatrixSummary): string {
  const without = untouched.length > 0 ? ` without a fault ${untouched.join(',')}` : ''
  return `matrix cells ${all} skipped ${skipped} faults ${injected} cells with violations ${violations}${without} ${verdict}`
}

/** All cells with their way, without a run. */
export const listing = (): string =>
  cells
    .map((cell) => {
      const { way } = cell
      const how =
        way.by === 'tests'
          ? `tests ${way.files.join(' ')} /${way.names}/`
          : way.by === 'nothing'
            ? `skipped: ${way.reason}`
            : way.by === 'rig'
              ? 'rig'
              : `scenario ${way.scenario}`
      return `${nameOf(cell).padEnd(12)} ${faults[cell.fault].fault}: ${how}`
    })
    .join('\n')
