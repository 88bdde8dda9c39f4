// Runs one health check of an unhealthy peer, and schedules the next one if it fails.

import type { HealthCheckJob, ProcessorJob } from '../jobs.ts'
import { canonicalOrigin } from '../origin.ts'
import type { SendingContext } from '../context.ts'
import { healthCheckId } from './health-check-id.ts'
import { markServerHealthy } from './health.ts'
import { answersAsPinned } from './probe.ts'
import { getThreatPolicy } from './threat-policy.ts'

export async function processHealthCheck(context: SendingContext, job: ProcessorJob<HealthCheckJob>): Promise<void> {
  const { store, clock, policies, logger } = context
  const origin = canonicalOrigin(job.data.serverUrl, context)
  const peer = await store.peers.get(origin)
  if (!peer || peer.isHealthy) return
  const reason = peer.unhealthyReason
  if (reason !== undefined && !getThreatPolicy(policies, reason).directHealthCheckable) return
  // A stale check: the series has moved on.
  if (isNumbered(job.id) && job.id !== healthCheckId(origin, peer.healthCheckAttempts)) return

  const isHealthy = await answersAsPinned(context, peer, { timeoutMs: policies.health.timeoutMs, signal: job.signal })
  if (isHealthy) return markServerHealthy(context, origin)
  // An aborted attempt says nothing about the peer. It is released and runs again.
  job.signal?.throwIfAborted()

  const attempts = await store.peers.checked(origin, clock.now())
  if (attempts === undefined) return
  if (attempts < policies.health.maxAttempts) return context.scheduleHealthCheck(origin, attempts)
  const message = `health checks of ${origin} ended after ${attempts} failures. The peer stays unhealthy. See peers.probe().`
  logger?.warn?.({ origin, reason, attempts }, message)
}

const isNumbered = (id: string): boolean => /^health-check_[0-9a-f]{16}_\d+$/.test(id)
