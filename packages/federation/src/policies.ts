// Policies and their defaults, of both profiles. Every default of the package is here, once.

import type { Backoff } from 'holdfast'
import { defaultThreats, type ThreatPolicy, type UnhealthyReason } from './peers/threats.ts'

const minute = 60_000
const day = 24 * 60 * minute

/** Complete: no code inside asks for a default. Times in ms, sizes in bytes. */
export interface Policies {
  readonly delivery: {
    /** Attempts in all, the first included. Failed contacts cost none. @default 1_000; seed: 5 */
    readonly maxAttempts: number
    /** Delay between attempts. @default exponential: 5, 10, 20 s … an hour, without jitter; seed: 5, 10, 20, 40 s */
    readonly backoff: Backoff
    /** Age at which a delivery ends. In the profile `seed`: at which it spends attempts although its peer asks for time. @default 7 days */
    readonly horizonMs: number
    /** Time that the record of a completed job is kept. @default 0; seed: a day */
    readonly keepCompletedMs: number
    /** Time that the record and the row of a failed delivery are kept. @default 30 days; seed: 7 days */
    readonly keepFailedMs: number
    /** Deliveries at a time, per process. @default 256; seed: 10 */
    readonly concurrency: number
    /** Deliveries to one peer at a time, in all processes. @default 4 */
    readonly perPeer: number
    /** The same while the peer is unhealthy. @default 1 */
    readonly perUnhealthyPeer: number
    /** Deliveries that wait for one peer. Of more than that the oldest ones become dead letters without a body. @default 10_000 */
    readonly maxPerPeer: number
    /**
     * Count the reply `{"status":"acknowledged"}` of a pinned peer to a direct follow over TLS, as the original of the v1 wire answers. It is
     * not signed. @default false; seed: true
     */
    readonly acceptUnprovenFollowAcks: boolean
    /** Verify every acknowledgement, whether its job has a handler or not. @default true; seed: false */
    readonly verifyAcks: boolean
    /** Deadline of one request, reply included. @default 15_000 */
    readonly timeoutMs: number
    /** Deadline of DNS, connect and TLS together. @default 5_000 */
    readonly connectTimeoutMs: number
  }
  /** Contacts with a peer that does not answer, in the profile `hardened`. */
  readonly contact: {
    /** Delay after the first failed contact; then twice as long each time. The second half of each delay is random. @default 10_000 */
    readonly firstDelayMs: number
    /** Longest delay; a day for a peer that has been away for a week. @default an hour */
    readonly maxDelayMs: number
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
  readonly registry: {
    /** Peers of one registrable domain that registered here and were never used. The oldest one is removed for a new one. @default 16 */
    readonly unusedPerSite: number
    /** The same of one address range: an IPv4 /24 or an IPv6 /48. @default 64 */
    readonly unusedPerRange: number
    /** The same in all. @default 10_000 */
    readonly unusedMax: number
    /** Time after which a peer that was never used is removed. @default 30 days */
    readonly unusedMs: number
  }
  readonly relay: {
    /** Send by a relay where the direct request fails and the reason allows it. @default false; seed: true */
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
    /** Requests to other servers per minute that REGISTER and DISCOVER cause, over all clients. @default 60 */
    readonly strangerFetchesPerMinute: number
    /** Let a peer replace its pinned keys by a proof that it has the old and the new ones. @default false */
    readonly acceptRotation: boolean
    /** Time that a handler has to decide about a message. Then the sender is told to repeat it. @default 10_000 */
    readonly decisionTimeoutMs: number
    /** Addresses and ranges whose `X-Forwarded-For` is believed. @default none */
    readonly trustedProxies: readonly string[]
    /** Paths of the inbox. @default /inbox, /api/auth/social/follows, /api/auth/social/posts */
    readonly inboxPaths: readonly string[]
  }
  readonly discover: {
    /** List healthy peers in the reply to `GET /discover`. @default false; seed: true */
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
    maxPerPeer: 10_000,
    acceptUnprovenFollowAcks: true,
    verifyAcks: false,
    timeoutMs: 15_000,
    connectTimeoutMs: 5_000,
  },
  contact: { firstDelayMs: 10_000, maxDelayMs: 60 * minute },
  health: { concurrency: 3, timeoutMs: 8_000, maxAttempts: 5, delayMs: (attempt) => (5 + 10 * attempt) * minute },
  discovery: { timeoutMs: 10_000, perMinute: 60 },
  registry: { unusedPerSite: 16, unusedPerRange: 64, unusedMax: 10_000, unusedMs: 30 * day },
  relay: { use: true, serve: false, sweepTimeoutMs: 2_000, sweepEveryMs: minute, sweepMax: 16 },
  methods: ['FEDERATE', 'FEDERATE_POST', 'INSERT', 'UNFOLLOW'],
  http: { maxResponseBytes: 256 * 1024 },
  inbound: {
    maxBytes: 256 * 1024,
    perIpPerMinute: 120,
    perPeerPerMinute: 600,
    discoverPerIpPerHour: 10,
    strangerFetchesPerMinute: 60,
    acceptRotation: false,
    decisionTimeoutMs: 10_000,
    trustedProxies: [],
    inboxPaths: ['/inbox', '/api/auth/social/follows', '/api/auth/social/posts'],
  },
  discover: { publishPeers: true, maxPeers: 100 },
  threats: defaultThreats,
}

/** Failed contacts cost a delivery no attempt, so the attempts are those that a process lost, and replies that concern one delivery alone. */
export const hardenedPolicies: Policies = {
  ...seedPolicies,
  delivery: {
    ...seedPolicies.delivery,
    maxAttempts: 1_000,
    backoff: { type: 'exponential', delayMs: 5_000, factor: 2, jitter: 0, maxDelayMs: 60 * minute },
    keepCompletedMs: 0,
    keepFailedMs: 30 * day,
    concurrency: 256,
    acceptUnprovenFollowAcks: false,
    verifyAcks: true,
  },
  relay: { ...seedPolicies.relay, use: false },
  discover: { ...seedPolicies.discover, publishPeers: false },
}

export type Profile = 'seed' | 'hardened'

export const policiesOfProfile: Readonly<Record<Profile, Policies>> = { seed: seedPolicies, hardened: hardenedPolicies }
