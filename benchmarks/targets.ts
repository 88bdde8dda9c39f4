// What we hold ourselves to. A ratio is ours to that of the best peer, or of the baseline where the row has one.

import type { Row } from './results.ts'

export interface Target {
  readonly ratio?: { readonly atLeast?: number; readonly atMost?: number }
  readonly value?: { readonly atMost: number }
}

type Place = Pick<Row, 'case' | 'variant' | 'measure'> & { readonly driver?: string }

/** Without a driver: for every one. */
const targets: readonly (Place & Target)[] = [
  { driver: 'memory', case: 'drain', variant: 'concurrency 100', measure: 'drain', ratio: { atLeast: 3 } },
  { driver: 'memory', case: 'add', variant: 'single adds, 100 in flight', measure: 'add', ratio: { atLeast: 1 } },
  { case: 'backlog', variant: '1M waiting', measure: 'claim of 1', ratio: { atMost: 2 } },
  { case: 'backlog', variant: '1M waiting', measure: 'claim of 100', ratio: { atMost: 2 } },
  { case: 'idle', variant: '1 worker', measure: 'storage calls', value: { atMost: 0 } },
  { case: 'idle', variant: '100 workers', measure: 'storage calls', value: { atMost: 0 } },
]

export function targetOf(row: Row): Target | undefined {
  return targets.find(
    (target) =>
      (target.driver ?? row.driver) === row.driver &&
      target.case === row.case &&
      target.variant === row.variant &&
      target.measure === row.measure,
  )
}
