// Instants and durations for people.

import { isoOf } from '../engine/schedule/instant.ts'

const units: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
]

/** Such as `350 ms`, `12 s`, `3 h 20 m`: two units at most. */
export function durationText(ms: number): string {
  if (ms < 0) return `-${durationText(-ms)}`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const index = units.findIndex(([, length]) => ms >= length)
  const [unit, length] = units[index]!
  const next = units[index + 1]
  const rest = next ? Math.floor((ms % length) / next[1]) : 0
  return `${Math.floor(ms / length)} ${unit}${rest > 0 ? ` ${rest} ${next![0]}` : ''}`
}

/** Such as `3 h 20 m ago` or `in 12 s`; empty without an instant. */
export function ageText(at: number | undefined, now: number): string {
  if (at === undefined) return ''
  return at <= now ? `${durationText(now - at)} ago` : `in ${durationText(at - now)}`
}

/** Such as `2026-03-29 08:00:00Z`: in UTC, as every machine of a fleet prints it. */
export function instantText(at: number): string {
  return isShowable(at) ? `${isoOf(at).slice(0, 19).replace('T', ' ')}Z` : String(at)
}

const isShowable = (at: number): boolean => Number.isFinite(at) && Math.abs(at) <= 8.64e15 && at < 253_402_300_800_000

/** Such as `08:00:00`, in UTC. */
export const clockText = (at: number): string => (isShowable(at) ? isoOf(at).slice(11, 19) : String(at))
