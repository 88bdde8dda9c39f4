// The counters and histograms of one federation, in this process. Labels come from closed sets: never an origin, an id or a message.

import type { FederationEvents } from '../context.ts'
import { refusalStatus } from '../inbound/refusal.ts'

/** Every counter: its label and its meaning. */
export const counters = {
  deliveries: [
    'outcome',
    'Deliveries: delivered, unproven (no verified signature), retried, waiting (no attempt spent), failed, dropped.',
  ],
  contacts: ['reason', 'Contacts with peers in the profile hardened: ok, or the code of the failure.'],
  inbound: ['code', 'Messages received: OK, or the code of the refusal; APPLICATION for codes of handlers.'],
  relayed: ['', 'Messages forwarded for other servers.'],
  pin_alarms: ['', 'Times that a server showed keys that differ from the pinned ones.'],
} as const satisfies Readonly<Record<string, readonly [label: string, help: string]>>

/** Every histogram, in seconds. */
export const histograms = {
  ack: 'Time from the acceptance of a delivery to its acknowledgement.',
  request: 'Time of a request to a peer, reply included.',
} as const

/** Upper bounds of the buckets, in seconds. */
export const bucketBounds: readonly number[] = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 3_600, 86_400, 604_800]

export interface Histogram {
  /** Observations per bucket, not cumulated; the last one has no upper bound. */
  readonly buckets: number[]
  sum: number
}

export class FederationMetrics {
  readonly #counts = new Map<keyof typeof counters, Map<string, number>>()
  readonly #histograms = new Map<keyof typeof histograms, Histogram>()

  add(name: keyof typeof counters, label = '', count = 1): void {
    const ofName = this.#counts.get(name) ?? new Map<string, number>()
    this.#counts.set(name, ofName)
    ofName.set(label, (ofName.get(label) ?? 0) + count)
  }

  observe(name: keyof typeof histograms, seconds: number): void {
    const known = this.#histograms.get(name)
    const histogram = known ?? { buckets: Array.from({ length: bucketBounds.length + 1 }, () => 0), sum: 0 }
    if (!known) this.#histograms.set(name, histogram)
    const index = bucketBounds.findIndex((bound) => seconds <= bound)
    histogram.buckets[index === -1 ? bucketBounds.length : index]!++
    histogram.sum += seconds
  }

  counts(name: keyof typeof counters): ReadonlyMap<string, number> {
    return this.#counts.get(name) ?? new Map()
  }

  histogram(name: keyof typeof histograms): Histogram | undefined {
    return this.#histograms.get(name)
  }

  /** Counts what an event tells. */
  record<E extends keyof FederationEvents>(event: E, [data]: FederationEvents[E]): void {
    const { isProven, code } = data as { readonly isProven?: boolean; readonly code?: string }
    if (event === 'delivered') this.add('deliveries', isProven ? 'delivered' : 'unproven')
    else if (event === 'delivery_failing') this.add('deliveries', 'retried')
    else if (event === 'delivery_waiting') this.add('deliveries', 'waiting')
    else if (event === 'delivery_failed') this.add('deliveries', 'failed')
    else if (event === 'contact_failed') this.add('contacts', code)
    else if (event === 'pin_mismatch') this.add('pin_alarms')
    else if (event === 'received') this.add('inbound', 'OK')
    else if (event === 'refused') this.add('inbound', Object.hasOwn(refusalStatus, code!) ? code : 'APPLICATION')
  }
}
