// The outcomes that the fast path can settle: completions and failures of jobs that are tied to nothing else.

import type { Bytes, LeaseRef, Outcome, SettleVerdict, When } from '../../storage.ts'
import type { Row } from '../connection/database.ts'
import type { TypeRegistry } from '../rules/type-registry.ts'
import { arrayOf, encodeBytes, encodeText, joinedBytes, numberOf } from '../sql/text.ts'
import type { AfterCommit } from './after-commit.ts'
import type { LeaseCache } from './lease-cache.ts'

export type Completion = LeaseRef & { readonly kind: 'completed'; readonly keepMs: number; readonly result?: Bytes }
export type Failure = LeaseRef &
  When & { readonly kind: 'retry' | 'failed'; readonly keepMs?: number; readonly error?: Bytes }
export type PlainOutcome = Completion | Failure

/**
 * The outcomes, if each ends an attempt that a worker holds, names another job and adds no jobs. Undefined: the rules must decide.
 * @param claims the statement also claims. A job that is retried at once could be among those claimed, but a statement does
 * not see its own writes
 */
export function plainOutcomes(
  outcomes: readonly Outcome[],
  afterCommit: AfterCommit,
  leases: LeaseCache,
  claims: boolean,
): readonly PlainOutcome[] | undefined {
  const seen = new Set<string>()
  for (const outcome of outcomes) {
    if ('chain' in outcome || afterCommit.hasEventListeners(outcome.type)) return undefined
    const { kind, add, keepMs, stalled, delayMs } = outcome as {
      kind: string
      add?: unknown
      keepMs?: number
      stalled?: boolean
      delayMs?: number
    }
    // Reports are in other tables.
    if (add !== undefined || stalled || outcome.progress !== undefined || outcome.log?.length) return undefined
    if (claims && kind === 'retry' && !(delayMs! > 0)) return undefined
    if (kind !== 'retry' && kind !== 'failed' && (kind !== 'completed' || keepMs === undefined)) return undefined
    seen.add(`${outcome.type.length}/${outcome.type}/${outcome.id}`)
  }
  if (seen.size < outcomes.length || leases.remove(outcomes as readonly PlainOutcome[])) return undefined
  return outcomes as readonly PlainOutcome[]
}

// An unknown type becomes 0, which matches no row.
const fenceCells = (types: TypeRegistry, outcomes: readonly LeaseRef[]): string[] => [
  arrayOf(outcomes.map(({ type }) => types.tidOf(type) ?? 0)),
  arrayOf(outcomes.map(({ id }) => encodeText(id))),
  arrayOf(outcomes.map(({ worker }) => encodeText(worker))),
  arrayOf(outcomes.map(({ attempt }) => attempt)),
]

/** Of what all completions have in common, which is nearly always so, the list has one value. */
export const completionCells = (types: TypeRegistry, outcomes: readonly Completion[]): string[] => [
  commonOr(outcomes.map(({ type }) => types.tidOf(type) ?? 0)),
  arrayOf(outcomes.map(({ id }) => encodeText(id))),
  commonOr(outcomes.map(({ worker }) => encodeText(worker))),
  commonOr(outcomes.map(({ attempt }) => attempt)),
  commonOr(outcomes.map(({ keepMs }) => keepMs)),
  ...joinedBytes(outcomes.map(({ result }) => result)),
]

const commonOr = (values: readonly (string | number)[]): string =>
  arrayOf(values.length > 1 && values.every((value) => value === values[0]) ? values.slice(0, 1) : values)

export const failureCells = (types: TypeRegistry, outcomes: readonly Failure[]): string[] => [
  ...fenceCells(types, outcomes),
  arrayOf(outcomes.map(({ runAt }) => runAt ?? null)),
  arrayOf(outcomes.map(({ delayMs }) => delayMs ?? null)),
  arrayOf(outcomes.map(({ keepMs }) => keepMs ?? null)),
  arrayOf(outcomes.map(({ error }) => encodeBytes(error))),
  arrayOf(outcomes.map(({ kind }) => String(kind === 'failed'))),
]

/** One signal per type. */
export function doneSignals(outcomes: readonly LeaseRef[]): { kind: 'done'; type: string; ids: string[] }[] {
  const done = new Map<string, string[]>()
  for (const { type, id } of outcomes) {
    const ids = done.get(type)
    if (ids) ids.push(id)
    else done.set(type, [id])
  }
  return [...done].map(([type, ids]) => ({ kind: 'done', type, ids }))
}

const noOthers = { added: [], ended: [], unblocked: [] } as const

export function completedVerdict(now: number, keepMs: number): SettleVerdict {
  const expiresAt = keepMs === Infinity ? undefined : now + keepMs
  return { verdict: 'settled', state: 'completed', expiresAt, ...noOthers }
}

/** @param row 'retried', position of the failure, whether the job ended, and its expiry or when it is due */
export function failedVerdict([, , ends, at]: Row): SettleVerdict {
  if (ends === 'true') return { verdict: 'settled', state: 'failed', expiresAt: numberOf(at!), ...noOthers }
  return { verdict: 'settled', state: 'failing', runAt: Number(at), ...noOthers }
}
