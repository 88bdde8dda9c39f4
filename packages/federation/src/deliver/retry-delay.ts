// The delay before the engine's next attempt. With jitter it is the longest delay, since the engine draws its own.

import { type Backoff, delayAfter } from 'holdfast'

const withoutJitter = { random: () => 0 }

export function retryDelay(backoff: Backoff, attempt: number, error: Error): number {
  // The engine reports a backoff function that throws, when it calls it for the retry.
  return delayAfter(backoff, attempt, error, withoutJitter, () => {})
}
