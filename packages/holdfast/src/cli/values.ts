// Values of options: each kind is parsed here, and refused with what was expected.

import { msOf } from '../engine/schedule/instant.ts'
import { shortened, UsageError } from './usage-error.ts'

export const kinds = {
  text: { placeholder: 'text', parse: (_name: string, text: string): string => text },
  integer: { placeholder: 'n', parse: integerOf },
  number: { placeholder: 'n', parse: numberOf },
  /** To ms. */
  duration: { placeholder: '10s', parse: durationOf },
  /** To epoch ms. */
  instant: { placeholder: 'time', parse: instantOf },
} as const

export type Kind = keyof typeof kinds | 'flag'

const refused = (name: string, expected: string, got: string): UsageError =>
  new UsageError(`--${name}: expected ${expected}, got '${shortened(got)}'.`)

function integerOf(name: string, text: string): number {
  const value = Number(text)
  if (!/^-?\d{1,16}$/.test(text) || !Number.isSafeInteger(value)) throw refused(name, 'an integer', text)
  return value
}

function numberOf(name: string, text: string): number {
  if (!/^-?\d{1,15}(\.\d{1,15})?$/.test(text)) throw refused(name, 'a number', text)
  return Number(text)
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** @throws UsageError */
export function durationOf(name: string, text: string): number {
  const [, count, unit] = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)$/.exec(text) ?? []
  if (count === undefined) throw refused(name, 'a duration such as 500ms, 10s, 5m, 2h or 1d', text)
  return Math.round(Number(count) * unitMs[unit!]!)
}

const isoForm = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)?)?$/

function instantOf(name: string, text: string): number {
  const at = isoForm.test(text) ? msOf(text) : NaN
  if (Number.isNaN(at)) throw refused(name, 'a time such as 2026-03-29T08:00:00Z or 2026-03-29', text)
  return at
}
