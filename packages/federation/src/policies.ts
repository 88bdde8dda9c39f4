// One table of defaults (profile `seed`).

import type { Backoff } from 'holdfast'
import { defaultThreats, type ThreatPolicy, type UnhealthyReason } from './peers/threats.ts'

const minute = 60_000
const day = 24 * 60 * minute

export interface Policies {
  readonly delivery: {
    readonly attempts: number
    readonly backoff: Backoff
    readonly keepCompletedMs: number
    readonly keepFailedMs: number
    readonly concurrency: number
    readonly timeoutMs: number
    readonly connectTimeoutMs: number
  }
  readonly health: {
    readonly concurrency: number
    readonly timeoutMs: number
    readonly maxAttempts: number
    readonly delayMs: (attempt: number) => number
  }
  readonly discovery: { readonly timeoutMs: number; readonly perMinute: number }
  readonly relay: {
    readonly use: boolean
    readonly serve: boolean
    readonly sweepTimeoutMs: number
    readonly sweepEveryMs: number
    readonly sweepMax: number
  }
  readonly methods: readonly string[]
  readonly http: { readonly maxResponseBytes: number }
  readonly inbound: {
    readonly maxBytes: number
    readonly perIpPerMinute: number
    readonly perPeerPerMinute: number
    readonly discoverPerIpPerHour: number
    readonly trustedProxies: readonly string[]
    readonly inboxPaths: readonly string[]
  }
  readonly discover: { readonly publishPeers: boolean; readonly maxPeers: number }
  readonly threats: Readonly<Record<UnhealthyReason, ThreatPolicy>>
}

export const seedPolicies: Policies = {
  delivery: {
    attempts: 5,
    backoff: { type: 'exponential', delayMs: 5_000, factor: 2, jitter: 0 },
    keepCompletedMs: day,
    keepFailedMs: 7 * day,
    concurrency: 10,
    timeoutMs: 15_000,
    connectTimeoutMs: 5_000,
  },
  health: { concurrency: 3, timeoutMs: 8_000, maxAttempts: 5, delayMs: (attempt) => (5 + 10 * attempt) * minute },
  discovery: { timeoutMs: 10_000, perMinute: 60 },
  relay: { use: true, serve: false, sweepTimeoutMs: 2_000, sweepEveryMs: minute, sweepMax: 16 },
  methods: ['FEDERATE', 'FEDERATE_POST', 'INSERT', 'UNFOLLOW'],
  http: { maxResponseBytes: 256 * 1024 },
  inbound: {
    maxBytes: 256 * 1024,
    perIpPerMinute: 120,
    perPeerPerMinute: 600,
    discoverPerIpPerHour: 10,
    trustedProxies: [],
    inboxPaths: ['/inbox', '/api/auth/social/follows', '/api/auth/social/posts'],
  },
  discover: { publishPeers: true, maxPeers: 100 },
  threats: defaultThreats,
}
