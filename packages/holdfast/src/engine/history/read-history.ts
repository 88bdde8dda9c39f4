// The history of a storage, from the rollups that workers write: a point per minute or per hour, without gaps.

import type { Clock } from '../../clock.ts'
import { invalidArgument } from '../../errors.ts'
import { parseType } from '../../storage/stored-type.ts'
import type { GuardedStorage } from '../guard.ts'
import {
  addTo,
  decodeRollup,
  groupKey,
  newTally,
  otherTypes,
  quantile,
  type Rollup,
  type SpanName,
  spans,
  type Tally,
} from './rollup.ts'

const historyRanges = ['15m', '1h', '24h', '30d'] as const
export type HistoryRange = (typeof historyRanges)[number]

/** What workers did in one minute or hour. */
export interface HistoryPoint {
  /** Its begin: epoch ms, by the clocks of the workers. */
  readonly at: number
  readonly completed: number
  /** Attempts that failed, and whose jobs are retried. */
  readonly retried: number
  /** Jobs that failed for good. */
  readonly failed: number
  /** Leases that were lost. */
  readonly stalled: number
  readonly cancelled: number
  /** From due to started, in ms, about: within which half and 99 % of the attempts began. Absent: none began. */
  readonly wait?: { readonly p50: number; readonly p99: number }
  /** Run time of handlers, in ms, as `wait`. */
  readonly run?: { readonly p50: number; readonly p99: number }
}

/** What workers did with the jobs of one type in the whole range. */
export interface HistoryType {
  readonly face: string
  /** `other`, with the face `''`: all types beyond the first 200 of a minute. */
  readonly name: string
  readonly completed: number
  readonly retried: number
  readonly failed: number
  /** Time that its handlers ran, in all, in ms. */
  readonly ranMs: number
}

export interface History {
  /** Time from one point to the next, in ms. */
  readonly stepMs: number
  /** The oldest first. The last one is not over. */
  readonly points: readonly HistoryPoint[]
  /** The types that ran, those whose handlers ran longest first. */
  readonly types: readonly HistoryType[]
}

const steps: Readonly<Record<HistoryRange, { readonly span: SpanName; readonly points: number }>> = {
  '15m': { span: 'minute', points: 15 },
  '1h': { span: 'minute', points: 60 },
  '24h': { span: 'hour', points: 24 },
  '30d': { span: 'hour', points: 720 },
}

/** @param type stored type; undefined: all @throws TypeError INVALID_ARGUMENT */
export async function readHistory(
  { kv }: Pick<GuardedStorage, 'kv'>,
  clock: Clock,
  range: HistoryRange,
  type?: string,
): Promise<History> {
  if (!historyRanges.includes(range)) throw invalidArgument('range', `one of ${historyRanges.join(', ')}`, range)
  const { span, points } = steps[range]
  const { ms, perGroup } = spans[span]
  const last = Math.floor(clock.now() / ms)
  const first = last - points + 1
  const rollups = new Map<number, Rollup>()
  const groups = Array.from(
    { length: Math.floor(last / perGroup) - Math.floor(first / perGroup) + 1 },
    (_, index) => Math.floor(first / perGroup) + index,
  )
  await Promise.all(
    groups.map(async (group) => {
      const { items } = await kv.list(groupKey(span, group), { limit: perGroup })
      for (const { key, value } of items) {
        const rollup = decodeRollup(value)
        if (rollup) rollups.set(Number(key.at(-1)), rollup)
      }
    }),
  )
  return {
    stepMs: ms,
    points: Array.from({ length: points }, (_, index) =>
      pointOf((first + index) * ms, rollups.get(first + index), type),
    ),
    types: typesOf(
      [...rollups].flatMap(([number, rollup]) => (number >= first && number <= last ? [rollup] : [])),
      type,
    ),
  }
}

function typesOf(rollups: readonly Rollup[], only: string | undefined): HistoryType[] {
  const sums: Rollup = new Map()
  for (const [type, tally] of rollups.flatMap((rollup) => [...rollup])) {
    if (only !== undefined && type !== only) continue
    const sum = sums.get(type) ?? newTally()
    addTo(sum, tally)
    sums.set(type, sum)
  }
  return [...sums]
    .map(([type, { completed, retried, failed, ranMs }]) => {
      const named = type === otherTypes ? { face: '', name: 'other' } : parseType(type)
      return { ...named, completed, retried, failed, ranMs }
    })
    .toSorted((a, b) => b.ranMs - a.ranMs)
}

function pointOf(at: number, rollup: Rollup | undefined, type: string | undefined): HistoryPoint {
  const sum = newTally()
  for (const [of, tally] of rollup ?? []) if (type === undefined || of === type) addTo(sum, tally)
  const { wait, run, ranMs: _, ...counts } = sum
  return { at, ...counts, ...times('wait', wait), ...times('run', run) }
}

function times(name: 'wait' | 'run', histogram: Tally['wait']): Pick<HistoryPoint, 'wait' | 'run'> {
  const [p50, p99] = [quantile(histogram, 0.5), quantile(histogram, 0.99)]
  return p50 === undefined || p99 === undefined ? {} : { [name]: { p50, p99 } }
}
