// One health check of an unhealthy peer, and the next one after it.

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
  // Of a series that another has overtaken.
  if (isNumbered(job.id) && job.id !== healthCheckId(origin, peer.healthCheckAttempts)) return

  const isBack = await answersAsPinned(context, peer, { timeoutMs: policies.health.timeoutMs, signal: job.signal })
  if (isBack) return markServerHealthy(context, origin)
  // Not an answer of the peer's: this attempt is released, and another asks again.
  job.signal?.throwIfAborted()

  const attempts = await store.peers.checked(origin, clock.now())
  if (attempts === undefined) return
  if (attempts < policies.health.maxAttempts) return context.scheduleHealthCheck(origin, attempts)
  logger?.warn?.({ origin, reason, attempts }, `no more health checks of ${origin}: it did not come back`)
}

const isNumbered = (id: string): boolean => /^health-check_[0-9a-f]{16}_\d+$/.test(id)
