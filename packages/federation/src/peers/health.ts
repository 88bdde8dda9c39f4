// Marks a peer as unhealthy or healthy. One series of checks per peer: the id of a check has its number.

import type { Sending, Setting } from '../setting.ts'
import { canonicalOrigin } from '../origin.ts'
import type { UnhealthyReason } from './threats.ts'

/** For errors of the transport alone, never for an HTTP status. A server without a row is left alone. */
export async function markServerUnhealthy(setting: Sending, url: string, reason: UnhealthyReason): Promise<void> {
  const { store, clock, policies } = setting
  const origin = canonicalOrigin(url, setting)
  const before = await store.peers.get(origin)
  if (!before) return
  const attempts = await store.peers.unhealthy(origin, reason, policies.health.maxAttempts, clock.now())
  if (attempts === undefined) return
  if (before.isHealthy || before.unhealthyReason !== reason) setting.emit('peer_unhealthy', { origin, reason })
  await setting.scheduleHealthCheck(origin, attempts)
}

/** After a check, an acknowledged delivery, or a REGISTER that succeeded. */
export async function markServerHealthy(setting: Setting, url: string): Promise<void> {
  const { store, clock } = setting
  const origin = canonicalOrigin(url, setting)
  const before = await store.peers.get(origin)
  await store.peers.healthy(origin, clock.now())
  if (before && !before.isHealthy) setting.emit('peer_healthy', { origin })
}
