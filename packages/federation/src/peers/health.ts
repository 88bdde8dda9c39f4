// Marks a peer as unhealthy or healthy. The id of a check has its number, so a peer has one series of checks.

import type { SendingContext, FederationContext } from '../context.ts'
import { canonicalOrigin } from '../origin.ts'
import type { UnhealthyReason } from './threats.ts'

/** Marks a peer for a transport error, never for an HTTP status, and schedules its check. A server without a row is left alone. */
export async function markServerUnhealthy(
  context: SendingContext,
  url: string,
  reason: UnhealthyReason,
): Promise<void> {
  const { store, clock, policies } = context
  const origin = canonicalOrigin(url, context)
  const before = await store.peers.get(origin)
  if (!before) return
  // The limit first: if the process dies in between, the next start of workers takes it back.
  if (before.isHealthy) await context.slots.narrow(origin)
  const attempts = await store.peers.unhealthy(origin, reason, policies.health.maxAttempts, clock.now())
  if (attempts === undefined) return
  if (before.isHealthy || before.unhealthyReason !== reason) context.emit('peer_unhealthy', { origin, reason })
  await context.scheduleHealthCheck(origin, attempts)
}

/** Marks a peer healthy: after a check, an acknowledged delivery, or a successful REGISTER. */
export async function markServerHealthy(context: FederationContext, url: string): Promise<void> {
  const { store, clock } = context
  const origin = canonicalOrigin(url, context)
  const before = await store.peers.get(origin)
  if (before && !before.isHealthy) await context.slots.widen(origin)
  await store.peers.healthy(origin, clock.now())
  if (before && !before.isHealthy) context.emit('peer_healthy', { origin })
}
