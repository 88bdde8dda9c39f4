// The contract of a case. Each case is one file in cases/; each variant is measured in its own process.

import type { Contender, Entrant } from './contender.ts'
import type { Limits } from './load.ts'

export interface Case {
  readonly name: string
  /** A sentence for the report. */
  readonly about: string
  readonly variants: readonly Variant[]
  /** Runs only if it is named by --case. @default false */
  readonly isOptIn?: boolean
}

export interface Variant {
  /** Unique in its case. */
  readonly name: string
  /** Limits the variant to some drivers. */
  readonly isFor?: (driver: string) => boolean
  /** Limits the variant to some contenders, where that is known without a measurement. */
  readonly isOf?: (contender: Contender) => boolean
  /** Ratios are to this variant of our own, not to a peer. */
  readonly baseline?: string
  /** Heap limit, for variants that need more than Node's default. */
  readonly execArgv?: readonly string[]
  /** Seconds that it may take for filling, beside the usual time limit. @default 0 */
  readonly fillSeconds?: number
  /** Unmeasured runs before, until their time is over, so that the code is compiled. undefined: the run warms up itself or needs no warm-up. */
  readonly warmUp?: (limits: Limits) => Limits
  /** Seconds for which a short run is repeated in the same process; the median counts. undefined: one run. */
  readonly repeatFor?: (limits: Limits) => number
  /** Resolves with undefined if the contender cannot do this. @throws if the jobs did not run exactly once */
  run(contender: Entrant, limits: Limits): Promise<readonly Measure[] | undefined>
}

export interface Measure {
  readonly name: string
  readonly unit: Unit
  readonly value: number
  /** A note on this value. */
  readonly note?: string
}

export type Unit =
  | 'jobs/s'
  | 'µs CPU/job'
  | 'ms'
  | 'µs'
  | 'bytes/job'
  | 'calls'
  | 'rows'
  | 'ms CPU/s'
  | 'MB'
  | 'jobs'
  | '%'

/** For rates and shares more is better, for every other unit less. */
export const moreIsBetter = (unit: Unit): boolean => unit === 'jobs/s' || unit === '%'

/** Settings of variants measured in jobs: a warm-up of the same time, 2 s at most, in runs of the same number of jobs, and repetitions. */
export const byJobs = {
  warmUp: ({ jobs, seconds }: Limits): Limits => ({ jobs, seconds: Math.min(seconds, 2), isWarmUp: true }),
  repeatFor: ({ seconds }: Limits): number => Math.min(1.5 * seconds, 3),
} as const satisfies Partial<Variant>
