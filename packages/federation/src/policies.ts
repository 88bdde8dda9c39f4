// Policies and their defaults (profile `seed`). Every default of the package is here, once.

import type { Backoff } from 'holdfast'
import { defaultThreats, type ThreatPolicy, type UnhealthyReason } from './peers/threats.ts'

const minute = 60_000
const day = 24 * 60 * minute

/** Complete: no code inside asks for a default. Times in ms, sizes in bytes. */
export interface Policies {
  readonly delivery: {
    /** Attempts in all, the first included. @default 5 */
    readonly maxAttempts: number
    /** Delay between attempts. @default exponential: 5, 10, 20, 40 s, without jitter */
    readonly backoff: Backoff
    /** How long a delivery waits, without spending attempts, for a peer that asks for time. @default 7 days */
    readonly horizonMs: number
    /** Time that the record of a completed job is kept. @default a day */
    readonly keepCompletedMs: number
    /** Time that the record and the row of a failed delivery are kept. @default 7 days */
    readonly keepFailedMs: number
    /** Deliveries at a time, per process. @default 10 */
    readonly concurrency: number
    /** Deliveries to one peer at a time, in all processes. @default 4 */
    readonly perPeer: number
    /** The same while the peer is unhealthy. @default 1 */
    readonly perUnhealthyPeer: number
    /** Deadline of one request, reply included. @default 15_000 */
    readonly timeoutMs: number
    /** Deadline of DNS, connect and TLS together. @default 5_000 */
    readonly connectTimeoutMs: number
  }
  readonly health: {
    /** Health checks at a time, per process. @default 3 */
    readonly concurrency: number
    /** Deadline of one check. @default 8_000 */
    readonly timeoutMs: number
    /** Checks of one series. After the last one the peer is not checked any more. @default 5 */
    readonly maxAttempts: number
    /** Delay before check number `attempt`, from 0. @default (5 + 10 × attempt) minutes */
    readonly delayMs: (attempt: number) => number
  }
  readonly discovery: {
    /** Deadline of one request for keys. @default 10_000 */
    readonly timeoutMs: number
    /** Discoveries per minute, over all peers. Further ones wait. @default 60 */
    readonly perMinute: number
  }
  readonly relay: {
    /** Send by a relay where the direct request fails and the reason allows it. @default true */
    readonly use: boolean
    /** Forward messages for other servers. @default false */
    readonly serve: boolean
    /** Deadline of each check of an emergency sweep. @default 2_000 */
    readonly sweepTimeoutMs: number
    /** Shortest time between two emergency sweeps of a process. @default 60_000 */
    readonly sweepEveryMs: number
    /** Peers that one emergency sweep checks. @default 16 */
    readonly sweepMax: number
  }
  /** Methods that a delivery may have. @default FEDERATE, FEDERATE_POST, INSERT, UNFOLLOW */
  readonly methods: readonly string[]
  readonly http: {
    /** Largest reply. @default 262_144 */
    readonly maxResponseBytes: number
  }
  readonly inbound: {
    /** Largest request body. @default 262_144 */
    readonly maxBytes: number
    /** Requests per client address and minute, without messages within the budget of an authenticated peer. @default 120 */
    readonly perIpPerMinute: number
    /** Authenticated messages per peer and minute. @default 600 */
    readonly perPeerPerMinute: number
    /** REGISTER and DISCOVER requests per client address and hour. @default 10 */
    readonly discoverPerIpPerHour: number
    /** Addresses and ranges whose `X-Forwarded-For` is believed. @default none */
    readonly trustedProxies: readonly string[]
    /** Paths of the inbox. @default /inbox, /api/auth/social/follows, /api/auth/social/posts */
    readonly inboxPaths: readonly string[]
  }
  readonly discover: {
    /** List healthy peers in the reply to `GET /discover`. @default true */
    readonly publishPeers: boolean
    /** Most peers in that list. @default 100 */
    readonly maxPeers: number
  }
  /** What each reason for an unhealthy peer allows. */
  readonly threats: Readonly<Record<UnhealthyReason, ThreatPolicy>>
}

export const seedPolicies: Policies = {
  delivery: {
    maxAttempts: 5,
    backoff: { type: 'exponential', delayMs: 5_000, factor: 2, jitter: 0 },
    horizonMs: 7 * day,
    keepCompletedMs: day,
    keepFailedMs: 7 * day,
    concurrency: 10,
    perPeer: 4,
    perUnhealthyPeer: 1,
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
