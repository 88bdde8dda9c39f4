// Computes medians, ranges, and ratios to the best peer and to the limit, of the same run and durability.

import { moreIsBetter } from './case.ts'
import type { Entry, Results, Row } from './results.ts'
import { type Spread, spreadOf } from './statistics.ts'
import { type Target, targetsOf } from './targets.ts'

export interface Line {
  readonly contender: string
  readonly spread: Spread | undefined
  /** For Holdfast only, then at least one. */
  readonly comparisons: readonly Comparison[]
  readonly note?: string
}

export interface Comparison {
  /** Ratio of the medians; its range is that of the single rounds, which were measured close together. */
  readonly ratio?: Spread
  /** What Holdfast is compared with. */
  readonly to?: string
  readonly target?: { readonly text: string; readonly verdict: Verdict | undefined }
}

/** `above the limit`: the goal against a peer is more than the contender `limit` reached in this run, so the goal against the limit decides. */
export type Verdict = 'reached' | 'missed' | 'above the limit'

export function linesOf(row: Row, results: Results): readonly Line[] {
  return row.entries.map((entry) => {
    const { contender, isPeer, invalid } = entry
    const note = invalid === undefined ? entry.note : `invalid: ${invalid}`
    if (invalid !== undefined) return { contender, spread: undefined, comparisons: [], note }
    const comparisons = isPeer ? [] : comparisonsOf(entry, row, results)
    return { contender, spread: spreadOf(entry.values), comparisons, note }
  })
}

function comparisonsOf(entry: Entry, row: Row, results: Results): readonly Comparison[] {
  const targets = targetsOf(row, entry.contender)
  const usual = row.baseline === undefined ? bestPeer(entry, row, results) : baselineOf(entry, row, results)
  const named = targets.filter(({ to }) => to !== undefined && to !== 'limit')
  const limit = limitOf(entry, row, results)
  return [
    compare(
      entry,
      usual,
      row.baseline,
      targets.find(({ to }) => to === undefined),
      row.baseline === undefined ? limit : undefined,
    ),
    ...(limit
      ? [
          compare(
            entry,
            limit,
            undefined,
            targets.find(({ to }) => to === 'limit'),
          ),
        ]
      : []),
    ...named.flatMap((target) => {
      const other = row.entries.find(({ contender, isPeer }) => isPeer && contender === target.to)
      return other && other.invalid === undefined ? [compare(entry, other, undefined, target, limit)] : []
    }),
  ]
}

function compare(
  { values }: Entry,
  other: Entry | undefined,
  baseline: string | undefined,
  target: Target | undefined,
  limit?: Entry,
): Comparison {
  const ratio = other && ratioOf(values, other.values)
  const judged = target && judge(target, spreadOf(values).median, ratio?.median)
  const isBeyond = judged?.verdict === 'missed' && limit !== undefined && isAboveLimit(target!, other!, limit)
  return {
    ratio,
    to: baseline ?? other?.contender,
    target: isBeyond ? { ...judged, verdict: 'above the limit' } : judged,
  }
}

function isAboveLimit({ ratio: { atLeast, atMost } = {} }: Target, other: Entry, limit: Entry): boolean {
  const [theirs, possible] = [other, limit].map(({ values }) => spreadOf(values).median) as [number, number]
  return (atLeast !== undefined && atLeast * theirs > possible) || (atMost !== undefined && atMost * theirs < possible)
}

/** The valid entries of others with the same durability. */
function othersOf(ours: Entry, { driver, entries }: Row, { contenders }: Results): readonly Entry[] {
  const durabilityOf = ({ contender }: Entry): string | undefined =>
    contenders.find((described) => described.driver === driver && described.name === contender)?.durability
  return entries.filter(
    (entry) => entry.isPeer && entry.invalid === undefined && durabilityOf(entry) === durabilityOf(ours),
  )
}

/** What the backend allows, if it was measured: by the best of the limit's ways. */
export const limitOf = (ours: Entry, row: Row, results: Results): Entry | undefined =>
  best(
    othersOf(ours, row, results).filter(({ isLimit }) => isLimit),
    row,
  )

/** The best peer of the same durability. */
export const bestPeer = (ours: Entry, row: Row, results: Results): Entry | undefined =>
  best(
    othersOf(ours, row, results).filter(({ isLimit }) => !isLimit),
    row,
  )

function best(entries: readonly Entry[], { unit }: Row): Entry | undefined {
  const sign = moreIsBetter(unit) ? -1 : 1
  return entries.toSorted((a, b) => sign * (spreadOf(a.values).median - spreadOf(b.values).median))[0]
}

/** The baseline variant of the same contender. */
function baselineOf(ours: Entry, row: Row, { rows }: Results): Entry | undefined {
  if (row.baseline === row.variant) return undefined
  const isBase = ({ driver, case: of, variant, measure }: Row): boolean =>
    driver === row.driver && of === row.case && variant === row.baseline && measure === row.measure
  const isOurs = ({ contender, invalid }: Entry): boolean => contender === ours.contender && invalid === undefined
  return rows.find(isBase)?.entries.find(isOurs)
}

export function ratioOf(ours: readonly number[], theirs: readonly number[]): Spread | undefined {
  // No ratio to 0.
  const median = spreadOf(ours).median / spreadOf(theirs).median
  if (!Number.isFinite(median)) return undefined
  const rounds = ours.map((value, round) => value / theirs[round]!).filter(Number.isFinite)
  return { median, min: Math.min(...rounds), max: Math.max(...rounds) }
}

function judge({ ratio, value }: Target, median: number, medianRatio: number | undefined): Comparison['target'] {
  const { atLeast, atMost } = value ?? ratio!
  const measured = value ? median : medianRatio
  const text = `${atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`}${value ? '' : ' ×'}`
  if (measured === undefined) return { text, verdict: undefined }
  const isReached = atLeast === undefined ? measured <= atMost! : measured >= atLeast
  return { text, verdict: isReached ? 'reached' : 'missed' }
}

/** Three digits, with thousands separators. */
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
