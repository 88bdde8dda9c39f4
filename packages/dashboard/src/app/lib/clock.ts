// Time and timers of the browser: the app takes them from here alone, as the rest of Holdfast takes them from its clock.

import { signal } from '@preact/signals'

/** The clock of the server less that of this machine, in ms: one that is off would show wrong ages. */
let offsetMs = 0

const now = (): number => Date.now() + offsetMs

export function after(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}

/** The time, once per second while the page is visible: ages are computed from it. */
export const time = signal(now())

setInterval(() => {
  if (!document.hidden) time.value = now()
}, 1_000)

/** @param at the time by the clock of the server, as it is now. Below a second it may be the way here. */
export function setServerTime(at: number): void {
  const offset = at - Date.now()
  if (Math.abs(offset - offsetMs) < 1_000) return
  offsetMs = offset
  time.value = now()
}

/** Time since the page was opened, in ms: for lengths, whatever the clock does. */
export const monotonic = (): number => performance.now()

/** The instant of a local time, as its field writes it: '2026-03-29T03:00:00'. */
export const instantOf = (local: string): number => new Date(local).getTime()

/** Of the zone of the browser from UTC, in ms. */
export const zoneOffsetMs = (at: number): number => -new Date(at).getTimezoneOffset() * 60_000
