// What every part of one federation shares. Made once by create.ts; parts take it as their first argument.

import type { Clock, Logger } from 'holdfast'
import type { HttpClient } from './http/client.ts'
import type { Keyring } from './keyring.ts'
import type { Policies } from './policies.ts'
import type { Store } from './store/store.ts'

export interface FederationEvents {
  /** A server shows other keys than those pinned. */
  pin_mismatch: [{ readonly origin: string; readonly from: 'discovery' | 'register' | 'health' }]
  /** An acknowledgement carried a signature that is not its sender's. */
  ack_forged: [{ readonly origin: string; readonly deliveryJobId: string }]
  peer_unhealthy: [{ readonly origin: string; readonly reason: string }]
  peer_healthy: [{ readonly origin: string }]
  delivered: [{ readonly id: string; readonly name: string; readonly origin: string }]
  delivery_failing: [{ readonly id: string; readonly origin: string; readonly attempt: number; readonly code: string }]
  delivery_failed: [{ readonly id: string; readonly origin: string; readonly code: string }]
  /** Inbound: an effect was made. */
  received: [{ readonly from: string; readonly method: string }]
  /** Inbound: refused. */
  refused: [{ readonly code: string; readonly status: number; readonly from: string | undefined }]
}

export interface FederationContext {
  /** Undefined only by way of the environment (3.4, step 6). */
  readonly origin: string | undefined
  readonly keyring: Keyring
  readonly store: Store
  readonly http: HttpClient
  /** For canonicalOrigin: `http:` names servers too. */
  readonly allowHttp: boolean
  readonly policies: Policies
  readonly clock: Clock
  readonly logger: Logger | undefined
  readonly emit: <E extends keyof FederationEvents>(event: E, ...args: FederationEvents[E]) => void
}

/** What the sending side shares besides. */
export interface SendingContext extends FederationContext {
  readonly scheduleHealthCheck: (serverUrl: string, attempt: number) => Promise<void>
}
