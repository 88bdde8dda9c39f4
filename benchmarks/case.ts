// What a case is. One file in cases/ for each; its variants are measured each in a process of its own.

import type { Entrant } from './contender.ts'
import type { Limits } from './load.ts'

export interface Case {
  readonly name: string
  /** A sentence for the report. */
  readonly about: string
  readonly variants: readonly Variant[]
}

export interface Variant {
  /** Unique in its case. */
  readonly name: string
  /** For some drivers only. */
  readonly isFor?: (driver: string) => boolean
  /** The ratios of interest are to this variant of ours, not to a peer. */
  readonly baseline?: string
  /** For those that need another heap than Node's default. */
  readonly execArgv?: readonly string[]
  /** The same run beforehand, unmeasured, so that the code is compiled. None: the run sees to it itself, or need not. */
  readonly warmUp?: (limits: Limits) => Limits
  /**
   * A run may be over in a moment: it is then repeated in the same process for so long, and the median counts.
   * @default 0: one run
   */
  readonly repeatSeconds?: number
  /** Resolves with nothing if the contender cannot do this. @throws if what ran is not what should have */
  run(contender: Entrant, limits: Limits): Promise<readonly Measure[] | undefined>
}

export interface Measure {
  readonly name: string
  readonly unit: Unit
  readonly value: number
  /** What else is worth saying about this value. */
  readonly note?: string
}

export type Unit = 'jobs/s' | 'µs CPU/job' | 'ms' | 'µs' | 'bytes/job' | 'calls' | 'rows' | 'ms CPU/s'

/** Of rates more is better, of everything else less. */
export const moreIsBetter = (unit: Unit): boolean => unit === 'jobs/s'

/** For what is measured in jobs: a warm-up with as many of them, though not for long, and repetitions. */
export const byJobs = {
  warmUp: ({ jobs, seconds }: Limits): Limits => ({ jobs, seconds: Math.min(seconds, 2) }),
  repeatSeconds: 3,
} as const satisfies Partial<Variant>
