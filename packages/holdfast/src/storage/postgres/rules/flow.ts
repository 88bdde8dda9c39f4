// The turns and limits of a type, as columns of its row.

import { emptyFlow, type Flow } from '../../rules/flow.ts'
import type { Row, Value } from '../connection/database.ts'
import type { FinalNumber } from './job.ts'

export interface StoredFlow {
  readonly flow: Flow | undefined
  /**
   * Jobs of it may run under a concurrency, so each that leaves processing looks for isFull. Set by claims; a sweep ends it once
   * none runs.
   */
  readonly isCapped: boolean
  /** As in its column: fast paths leave the type to the rules. */
  readonly isRuled: boolean
  /** The transaction has locked the row of the type. */
  readonly isLocked: boolean
}

/** @param text of the column, JSON of a Flow */
export function decodeFlow(text: string | null): Pick<StoredFlow, 'flow' | 'isCapped'> {
  if (text === null) return { flow: undefined, isCapped: false }
  const { isCapped = false, ...flow } = JSON.parse(text) as Flow & { isCapped?: boolean }
  return { flow, isCapped }
}

/** @param row tid, paused_since, paused_by, flow, ruled, grouped */
export const storedFlow = (row: Row, isLocked: boolean): StoredFlow => ({
  ...decodeFlow(row[3]!),
  isRuled: row[4] === 'true',
  isLocked,
})

/** Whether fast paths must leave the type to the rules. */
export const needsRules = ({ flow, isCapped }: Pick<StoredFlow, 'flow' | 'isCapped'>, now: number): boolean =>
  isCapped || (flow !== undefined && (flow.isFull || flow.slowedUntil > now))

/** tid, flow, ruled. */
export function flowCells(
  tid: number,
  stored: Pick<StoredFlow, 'flow' | 'isCapped'>,
  now: number,
  final: FinalNumber,
): Value[] {
  const { flow = emptyFlow, isCapped } = stored
  const all = { ...flow, turn: final(flow.turn), ...(isCapped ? { isCapped } : {}) }
  return [tid, JSON.stringify(all), needsRules(stored, now) ? 'true' : null]
}
