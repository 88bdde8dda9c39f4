// Sizes of the exhaustive model.

import type { Size } from './moves.ts'

const alone = { jobs: 1, workers: 1, attempts: 2, lives: 2, slots: 2, crashes: 1, failovers: 1 }

export const sizes = {
  /** Small enough for every commit. */
  small: alone,
  /** Claims ahead of a free slot, too. */
  ahead: { ...alone, ahead: true },
  /** One worker that runs a job twice at the same time, and an id with two lives. */
  lives: { ...alone, attempts: 3 },
  /** 2 jobs, 2 workers, 3 attempts. */
  pairs: { jobs: 2, workers: 2, attempts: 3, lives: 1, slots: 1, crashes: 0, failovers: 0 },
  /** The same, with a crash and a call that a failover forgets. */
  full: { jobs: 2, workers: 2, attempts: 3, lives: 1, slots: 1, crashes: 1, failovers: 1 },
} as const satisfies Record<string, Size>

/** In which the counterexamples of broken rules are looked for. */
export const searched: Size = { ...alone, workers: 2, attempts: 3, ahead: true }
