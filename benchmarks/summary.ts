// From values to what is shown: medians, ranges, and ratios of ours to the best peer of the same run.

import { moreIsBetter } from './case.ts'
import type { Entry, Row } from './results.ts'
import { type Spread, spreadOf } from './statistics.ts'
import { type Target, targetOf } from './targets.ts'

export interface Line {
  readonly contender: string
  readonly spread: Spread | undefined
  /** Ours only. Of medians; its range is that of the single rounds, whose measurements were neighbours in time. */
  readonly ratio?: Spread
  /** What the ratio is to. */
  readonly to?: string
  readonly target?: { readonly text: string; readonly isReached: boolean | undefined }
  readonly note?: string
}

export function linesOf(row: Row, rows: readonly Row[]): readonly Line[] {
  return row.entries.map((entry) => {
    const spread = entry.invalid === undefined ? spreadOf(entry.values) : undefined
    const note = entry.invalid === undefined ? entry.note : `does not count: ${entry.invalid}`
    const line = { contender: entry.contender, spread, note }
    if (entry.isPeer || !spread) return line
    const other = row.baseline === undefined ? bestPeer(row) : baselineOf(row, rows)
    const ratio = other && ratioOf(entry.values, other.values)
    const target = targetOf(row)
    return {
      ...line,
      ratio,
      to: row.baseline ?? other?.contender,
      target: target && judge(target, spread.median, ratio?.median),
    }
  })
}

function bestPeer({ entries, unit }: Row): Entry | undefined {
  const peers = entries.filter(({ isPeer, invalid }) => isPeer && invalid === undefined)
  const sign = moreIsBetter(unit) ? -1 : 1
  return peers.toSorted((a, b) => sign * (spreadOf(a.values).median - spreadOf(b.values).median))[0]
}

function baselineOf(row: Row, rows: readonly Row[]): Entry | undefined {
  if (row.baseline === row.variant) return undefined
  const isBase = ({ driver, case: of, variant, measure }: Row): boolean =>
    driver === row.driver && of === row.case && variant === row.baseline && measure === row.measure
  return rows.find(isBase)?.entries.find(({ isPeer, invalid }) => !isPeer && invalid === undefined)
}

function ratioOf(ours: readonly number[], theirs: readonly number[]): Spread | undefined {
  // Nothing to compare with: twice nothing is nothing.
  const median = spreadOf(ours).median / spreadOf(theirs).median
  if (!Number.isFinite(median)) return undefined
  const rounds = ours.map((value, round) => value / theirs[round]!).filter(Number.isFinite)
  return { median, min: Math.min(...rounds), max: Math.max(...rounds) }
}

function judge({ ratio, value }: Target, median: number, medianRatio: number | undefined) {
  if (value) return { text: `≤ ${value.atMost}`, isReached: median <= value.atMost }
  const { atLeast, atMost } = ratio!
  const text = atLeast === undefined ? `≤ ${atMost} ×` : `≥ ${atLeast} ×`
  if (medianRatio === undefined) return { text, isReached: undefined }
  return { text, isReached: atLeast === undefined ? medianRatio <= atMost! : medianRatio >= atLeast }
}

/** Three digits, and thousands apart. */
export function numeral(value: number): string {
  if (value === 0) return '0'
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  return value.toLocaleString('en', { maximumFractionDigits: Math.min(digits, 4), useGrouping: true })
}

export const range = ({ min, max }: Spread): string => `${numeral(min)} … ${numeral(max)}`

export const titleOf = ({ driver, case: name, variant, measure }: Row): string => {
  const parts = [driver, name, variant]
  if (measure !== name && measure !== variant) parts.push(measure)
  return parts.join(' · ')
}
