// Durations of any form, as whole milliseconds. A Temporal.Duration of any polyfill is read by its fields alone.

import { type ErrorCode, printable, usageError } from '../errors.ts'

/** Milliseconds, an ISO 8601 text such as 'PT1H30M', a Temporal.Duration, or an object with some of its fields. */
export type Duration = number | string | DurationFields

export type DurationFields = { readonly [field in Field]?: number }

type Field = (typeof fields)[number]

const fields = [
  'years',
  'months',
  'weeks',
  'days',
  'hours',
  'minutes',
  'seconds',
  'milliseconds',
  'microseconds',
  'nanoseconds',
] as const

const fieldMs: Readonly<Record<Exclude<Field, 'years' | 'months'>, number>> = {
  weeks: 604_800_000,
  days: 86_400_000,
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1_000,
  milliseconds: 1,
  microseconds: 1e-3,
  nanoseconds: 1e-6,
}

/** 100 years. */
const longestMs = 100 * 365 * 86_400_000

/**
 * Returns the duration in whole ms, rounded up: a delay is never early, a TTL never short.
 * @param name for the error message
 * @param limits.code of the error @param limits.min smallest duration that is accepted, in ms
 * @throws TypeError with that code
 */
export function toMs(
  duration: Duration,
  name = 'duration',
  { code = 'INVALID_ARGUMENT' as ErrorCode, min = -longestMs } = {},
): number {
  const ms = exactMs(duration)
  // Rounded to the nanosecond first: 1.1 s is 1100 ms, although 1.1 × 1000 is slightly more.
  const whole = ms === undefined ? NaN : Math.ceil(Math.round(ms * 1e6) / 1e6)
  if (!(whole >= min && whole <= longestMs)) {
    const bounds = min === 1 ? 'above 0 and ' : min === 0 ? 'of at least 0 and ' : ''
    const expected = `a duration (ms, ISO 8601 or Temporal.Duration) ${bounds}of at most 100 years, without years and months`
    throw usageError(code, `${name}: expected ${expected}, got ${printable(duration)}`)
  }
  // No negative zero.
  return whole + 0
}

function exactMs(duration: unknown): number | undefined {
  if (typeof duration === 'number') return Number.isFinite(duration) ? duration : undefined
  if (typeof duration === 'string') return textMs(duration)
  return duration !== null && typeof duration === 'object' ? fieldsMs(duration) : undefined
}

function fieldsMs(duration: object): number | undefined {
  let ms = 0
  let found = 0
  let sign = 0
  for (const field of fields) {
    const value = (duration as Record<Field, unknown>)[field]
    if (value === undefined) continue
    if (typeof value !== 'number' || !Number.isFinite(value)) return undefined
    found++
    if (value === 0) continue
    if (field === 'years' || field === 'months' || (sign !== 0 && sign !== Math.sign(value))) return undefined
    sign = Math.sign(value)
    ms += value * fieldMs[field]
  }
  return found === 0 ? undefined : ms
}

const number = String.raw`(\d+(?:[.,]\d{1,9})?)`
const pattern = new RegExp(
  `^([+-])?P(?!$)(?:${number}Y)?(?:${number}M)?(?:${number}W)?(?:${number}D)?(?:T(?!$)(?:${number}H)?(?:${number}M)?(?:${number}S)?)?$`,
  'i',
)

function textMs(text: string): number | undefined {
  const match = text.length > 128 ? null : pattern.exec(text)
  if (!match) return undefined
  const [, sign, ...parts] = match
  // Only the last part may have a fraction, and only if it is a part of the time.
  const last = parts.findLastIndex((part) => part !== undefined)
  const misplaced = parts.some(
    (part, index) => part !== undefined && /[.,]/.test(part) && (index !== last || index < 4),
  )
  if (misplaced) return undefined
  const [years, months, weeks, days, hours, minutes, seconds] = parts.map((part) =>
    part === undefined ? undefined : Number(part.replace(',', '.')),
  )
  const ms = fieldsMs({ years, months, weeks, days, hours, minutes, seconds })
  return ms === undefined || sign !== '-' ? ms : -ms
}
