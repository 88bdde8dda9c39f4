// The context of a federation: what all its parts share. create.ts makes it once; functions take it as their first argument.

import type { Clock, Logger } from 'holdfast'
import type { Backlogs } from './backlogs.ts'
import type { HttpClient } from './http/client.ts'
import type { PeerContacts } from './peers/contacts.ts'
import type { Drains } from './peers/drains.ts'
import type { PeerState } from './peers/peer-state.ts'
import type { PeerSlots } from './peers/slots.ts'
import type { Keyring } from './keyring.ts'
import type { LoopTurns } from './loop-turns.ts'
import type { FederationMetrics } from './metrics/federation-metrics.ts'
import type { Policies } from './policies.ts'
import type { Store } from './store/store.ts'

export interface FederationEvents {
  /** A server shows keys that differ from the pinned ones. Nothing was changed. */
  pin_mismatch: [{ readonly origin: string; readonly from: 'discovery' | 'register' | 'health' }]
  /** The signature of an acknowledgement is not that of the peer's pinned key. */
  ack_forged: [{ readonly origin: string; readonly deliveryJobId: string }]
  /** A peer proved that it has its old and its new keys. Its pin was replaced. */
  pin_rotated: [{ readonly origin: string }]
  peer_unhealthy: [{ readonly origin: string; readonly reason: string }]
  peer_healthy: [{ readonly origin: string }]
  /** A delivery was acknowledged and its job completed. `isProven`: the acknowledgement was verified as signed by the peer. */
  delivered: [{ readonly id: string; readonly name: string; readonly origin: string; readonly isProven: boolean }]
  /** An attempt failed; another one follows. */
  delivery_failing: [{ readonly id: string; readonly origin: string; readonly attempt: number; readonly code: string }]
  /** The peer asked for time with Retry-After, or too many servers were discovered. It goes on later, and no attempt was spent. */
  delivery_waiting: [{ readonly id: string; readonly origin: string; readonly retryAfterMs: number }]
  /** A delivery failed for good. */
  delivery_failed: [{ readonly id: string; readonly origin: string; readonly code: string }]
  /** Profile `hardened`: the peer did not answer, or not properly. It is not contacted before `nextContactAt`, epoch ms. */
  contact_failed: [
    {
      readonly origin: string
      readonly code: string
      readonly state: PeerState['state']
      /** Failed contacts in a row. */
      readonly failures: number
      readonly nextContactAt: number
    },
  ]
  /** Profile `hardened`: more than half of at least 20 peers did not answer within a minute. At most once a minute. */
  own_outage: [object]
  /** Too many deliveries waited for a peer: the oldest ones became dead letters. At most once a minute and peer. */
  backlog_dropped: [{ readonly origin: string; readonly count: number }]
  /** Inbound: a message was applied. */
  received: [{ readonly from: string; readonly method: string }]
  /** Inbound: a request was refused. */
  refused: [{ readonly code: string; readonly status: number; readonly from: string | undefined }]
}

export interface FederationContext {
  /** Canonical origin of this server. Undefined only if the environment does not set it. */
  readonly origin: string | undefined
  readonly keyring: Keyring
  readonly store: Store
  readonly http: HttpClient
  /** Whether canonicalOrigin() accepts `http:`. */
  readonly allowHttp: boolean
  readonly policies: Policies
  readonly clock: Clock
  readonly logger: Logger | undefined
  readonly slots: PeerSlots
  readonly metrics: FederationMetrics
  /** A registered peer sent an authenticated message. Only in the profile `hardened`. */
  readonly heard?: (origin: string) => void
  readonly emit: <E extends keyof FederationEvents>(event: E, ...args: FederationEvents[E]) => void
}

/** The context of the sending side. */
export interface SendingContext extends FederationContext {
  /** Only in the profile `hardened`. */
  readonly contacts?: PeerContacts | undefined
  readonly backlogs: Backlogs
  /** Turns of the event loop. The receiving side has its own: a flood of messages must not hold up deliveries. */
  readonly turns: LoopTurns
  /** The pace of peers with a long backlog. Only in the profile `hardened`. */
  readonly drains?: Drains
  readonly scheduleHealthCheck: (serverUrl: string, attempt: number) => Promise<void>
}
