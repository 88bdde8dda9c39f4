// Time and timers of the browser: the app takes them from here alone, as the rest of Holdfast takes them from its clock.

import { signal } from '@preact/signals'

const now = (): number => Date.now()

export function after(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}

/** The time, once per second while the page is visible: ages are computed from it. */
export const time = signal(now())

setInterval(() => {
  if (!document.hidden) time.value = now()
}, 1_000)

/** The instant of a local time, as its field writes it: '2026-03-29T03:00:00'. */
export const instantOf = (local: string): number => new Date(local).getTime()
