// The faults of a run. Each seed draws which of them exist, and how often they strike.

import type { Random } from '../../random.ts'

/** Faults of the connection, as the probability per message. */
const ratesOfLink = {
  requestLost: 0.2,
  replyLost: 0.2,
  delay: 0.15,
  duplicate: 0.2,
  storageError: 0.2,
  diskFull: 0.2,
  hintLost: 1,
  hintDuplicate: 0.3,
} as const

/** Faults that a plan strikes with: number of strikes, at most. */
const strikes = {
  crash: 5,
  restart: 3,
  pause: 5,
  nodeClock: 4,
  serverClock: 2,
  serverDown: 2,
} as const

export type FaultRates = Readonly<Record<keyof typeof ratesOfLink, number>>
export type Strike = keyof typeof strikes
export type FaultKind = keyof typeof ratesOfLink | Strike

export const faultKinds = [...Object.keys(ratesOfLink), ...Object.keys(strikes)] as readonly FaultKind[]

export interface Faults {
  readonly rates: FaultRates
  /** At an instant of the run, from 0 to 1. */
  readonly strikes: readonly { readonly kind: Strike; readonly at: number }[]
}

export const noRates = Object.fromEntries(Object.keys(ratesOfLink).map((kind) => [kind, 0])) as FaultRates

/** @param without kinds that are left out, to find those that a violation needs */
export function drawFaults(random: Random, without: readonly FaultKind[]): Faults {
  const rates: Record<string, number> = {}
  for (const [kind, highest] of Object.entries(ratesOfLink)) {
    // Drawn in any case, so that leaving one out changes no other.
    const [exists, rate] = [random.next() < 0.35, random.next()]
    rates[kind] =
      exists && !without.includes(kind as FaultKind) ? (kind === 'hintLost' && rate > 0.5 ? 1 : rate * highest) : 0
  }
  const plan: { kind: Strike; at: number }[] = []
  for (const [kind, most] of Object.entries(strikes)) {
    const count = random.next() < 0.4 ? random.integer(1, most) : 0
    const times = Array.from({ length: count }, () => random.next())
    if (!without.includes(kind as FaultKind)) plan.push(...times.map((at) => ({ kind: kind as Strike, at })))
  }
  return { rates: rates as unknown as FaultRates, strikes: plan.toSorted((a, b) => a.at - b.at) }
}
