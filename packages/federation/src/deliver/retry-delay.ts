// When the engine will try again, as far as that is known: with jitter, the latest instant.

import { type Backoff, delayAfter } from 'holdfast'

const withoutJitter = { random: () => 0 }

export function retryDelay(backoff: Backoff, attempt: number, error: Error): number {
  // What is wrong with a function of the user's, the engine tells when it asks it itself.
  return delayAfter(backoff, attempt, error, withoutJitter, () => {})
}
