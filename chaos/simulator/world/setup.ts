// Everything that a seed draws before the run begins: its size, its options, its kinds of jobs and its faults.

import { type Random, randomOf } from '../../random.ts'
import { drawFaults, type FaultKind, type Faults } from './faults.ts'
import { type Kind, kinds } from './kinds.ts'

export interface Setup {
  readonly seed: number
  readonly leaseMs: number
  readonly pollMs: number
  readonly callTimeoutMs: number
  readonly claimsInFlight: number
  readonly concurrency: number
  readonly prefetchMs: number | false
  readonly maxAttempts: number
  readonly backoff: {
    readonly delayMs: number
    readonly factor: number
    readonly maxDelayMs: number
    readonly jitter: number
  }
  readonly resultTTL: number
  readonly workers: number
  readonly producers: number
  /** Of each producer. */
  readonly operations: number
  /** How long there are faults, in ms. */
  readonly durationMs: number
  readonly kinds: readonly Kind[]
  /** Limits of the kind `limited`. */
  readonly limits: {
    readonly concurrency?: number
    readonly rate?: { limit: number; perMs: number }
    readonly groupLimit?: number
  }
  readonly faults: Faults
}

/** What a run leaves out, to make a violation smaller. */
export interface Reduction {
  readonly without?: readonly FaultKind[] | undefined
  readonly kinds?: readonly Kind[] | undefined
  readonly workers?: number | undefined
  readonly producers?: number | undefined
  readonly operations?: number | undefined
}

export function drawSetup(seed: number, reduction: Reduction = {}): Setup {
  const random = randomOf(seed, 'setup')
  const leaseMs = random.pick([300, 1_000, 1_000, 2_500, 4_000])
  const drawn = {
    seed,
    leaseMs,
    pollMs: random.pick([500, 2_000, 5_000]),
    callTimeoutMs: random.pick([600, 2_000, 5_000]),
    claimsInFlight: random.pick([1, 1, 2]),
    concurrency: random.integer(1, 4),
    prefetchMs: random.pick([false, 20] as const),
    maxAttempts: random.integer(1, 4),
    backoff: {
      delayMs: random.integer(20, 400),
      factor: random.pick([1, 2, 3]),
      maxDelayMs: random.pick([300, 1_500]),
      jitter: random.pick([0, 0.2, 0.5]),
    },
    resultTTL: random.pick([1_500, 15_000, 600_000]),
    workers: random.integer(1, 3),
    producers: random.integer(1, 2),
    operations: random.integer(4, 24),
    durationMs: random.integer(3_000, 9_000),
    kinds: drawKinds(random),
    limits: drawLimits(random),
  }
  const faults = drawFaults(randomOf(seed, 'faults'), reduction.without ?? [])
  return {
    ...drawn,
    faults,
    workers: reduction.workers ?? drawn.workers,
    producers: reduction.producers ?? drawn.producers,
    operations: reduction.operations ?? drawn.operations,
    kinds: reduction.kinds ?? drawn.kinds,
  }
}

function drawKinds(random: Random): Kind[] {
  return random.shuffled(kinds).slice(0, random.pick([1, 1, 2, 2, 3]))
}

function drawLimits(random: Random): Setup['limits'] {
  const [concurrency, limit, perMs, groupLimit] = [
    random.integer(1, 3),
    random.integer(2, 4),
    random.integer(300, 1_500),
    random.integer(1, 2),
  ]
  const [hasRate, hasGroup] = [random.next() < 0.5, random.next() < 0.5]
  return { concurrency, ...(hasRate && { rate: { limit, perMs } }), ...(hasGroup && { groupLimit }) }
}
