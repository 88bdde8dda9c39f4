// When the engine will try again, as far as that is known: with jitter, the latest instant.

import type { Backoff } from 'holdfast'

export function retryDelay(backoff: Backoff, attempt: number, error: Error): number {
  if (backoff === 'none') return 0
  if (typeof backoff === 'function') {
    const delayMs = backoff(attempt, error)
    return Number.isFinite(delayMs) && delayMs >= 0 ? delayMs : 0
  }
  if (backoff !== 'exponential' && backoff.type === 'fixed') return backoff.delayMs
  const { delayMs = 1_000, factor = 2, maxDelayMs = 300_000 } = backoff === 'exponential' ? {} : backoff
  return Math.min(delayMs * factor ** (attempt - 1), maxDelayMs)
}
