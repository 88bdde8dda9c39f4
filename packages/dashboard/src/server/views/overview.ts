// The first screen: what is late, what fails, who works. Types come by what needs attention.

import type { TypeSummary, WorkerInfo } from 'holdfast'
import type { Answer, Attention, Overview, Summary, TypeRow } from '../../shared/api.ts'
import { largestPage } from '../../shared/api.ts'
import type { Call, Context } from '../route.ts'
import { answerOfCounts, type Counts, totalsOf } from './counts.ts'

/** A job that has been due for longer makes its type late. */
const lateMs = 60_000

export function summary(context: Context, call: Call): Promise<Answer<Summary>> {
  return answerOfCounts(context, call, (counts) => (counts ? { totals: totalsOf(counts) } : {}))
}

export function overview(context: Context, call: Call): Promise<Answer<Overview>> {
  return answerOfCounts(context, call, (counts) => {
    if (!counts) return { types: [], cut: 0 }
    const rows = typeRows(counts)
    return { totals: totalsOf(counts), types: rows.slice(0, largestPage), cut: Math.max(0, rows.length - largestPage) }
  })
}

/** Every type, the one that needs attention most first. */
export function typeRows({ types, workers }: Counts): TypeRow[] {
  const served = servedTypes(workers)
  return types
    .map((type): TypeRow => {
      const count = served.get(keyOf(type)) ?? 0
      return { ...type, workers: count, attention: attentionOf(type, count) }
    })
    .toSorted(byUrgency)
}

function attentionOf(type: TypeSummary, workers: number): Attention[] {
  const found: Attention[] = []
  if (type.due > 0 && workers === 0 && !type.paused) found.push('no_worker')
  if ((type.oldestDueMs ?? 0) > lateMs && !type.paused) found.push('late')
  if (type.states.failed > 0) found.push('failed')
  if (type.paused || type.pausedGroups.length > 0) found.push('paused')
  if (type.slowedUntil !== undefined) found.push('slowed')
  return found
}

const weights: Readonly<Record<Attention, number>> = { no_worker: 16, late: 8, failed: 4, paused: 2, slowed: 1 }

const weight = ({ attention }: TypeRow): number => attention.reduce((total, reason) => total + weights[reason], 0)

function byUrgency(a: TypeRow, b: TypeRow): number {
  return weight(b) - weight(a) || (b.oldestDueMs ?? 0) - (a.oldestDueMs ?? 0) || (keyOf(a) < keyOf(b) ? -1 : 1)
}

function servedTypes(workers: readonly WorkerInfo[]): Map<string, number> {
  const served = new Map<string, number>()
  for (const { types } of workers) for (const type of types) served.set(keyOf(type), (served.get(keyOf(type)) ?? 0) + 1)
  return served
}

/** One text for a type. */
export const keyOf = ({ face, name }: { readonly face: string; readonly name: string }): string => `${face}\0${name}`
