// The limits that the types of a history have: every claim of a type has the same.

import type { Limits } from 'holdfast/storage'
import { groups } from '../commands.ts'

/** The limits of a type, for a whole history. */
export function limitsOf(unit: number, number: number): Limits | undefined {
  const rate = (limit: number, units: number) => ({ limit, perMs: units * unit })
  const choices: (Limits | undefined)[] = [
    undefined,
    {},
    { concurrency: 1 },
    { concurrency: 2, group: { limit: 1 } },
    { group: { limit: 1 } },
    { group: { limit: 2 }, groups: { [groups[1]]: { limit: 1 } } },
    { rate: rate(2, 3) },
    { group: { rate: rate(2, 3) } },
    { rate: rate(3, 5), group: { rate: rate(2, 2), limit: 2 } },
    { group: { fair: false } },
    { concurrency: 2, rate: rate(4, 2), group: { fair: false, limit: 1 } },
    { rate: rate(1, 11), groups: { [groups[0]]: { rate: rate(5, 3) } } },
  ]
  return choices[number]
}
