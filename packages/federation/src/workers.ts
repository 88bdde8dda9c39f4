// The workers of a federation: what they do with their jobs, what they say about it, and what they see to at their start.

import type { Storage } from 'holdfast'
import type { AckHandlers } from './deliver/dispatch-ack.ts'
import { failureCode, processFederationDelivery } from './deliver/process.ts'
import { methodOf } from './deliver/read-payload.ts'
import type { FederationDeliveryJob, HealthCheckJob } from './jobs.ts'
import { processHealthCheck } from './peers/process-health-check.ts'
import { checkableReasons } from './peers/threat-policy.ts'
import { deliveryQueueConfig, type FederationQueue, healthCheckQueueConfig } from './queues.ts'
import type { Sending } from './setting.ts'
import { startUpkeep } from './upkeep.ts'
import { type FailedAttempt, FederationWorker } from './worker.ts'

export interface FederationWorkers {
  readonly deliveryWorker: FederationWorker<FederationDeliveryJob>
  readonly healthCheckWorker: FederationWorker<HealthCheckJob>
  /** @param timeout in ms, for what is under way @default 30_000 */
  stop(timeout?: number): Promise<void>
}

export interface WorkersOptions {
  readonly storage: Storage
  readonly acks: AckHandlers
  readonly deliveryQueue: FederationQueue<FederationDeliveryJob>
  /** Resolves once the tables are open. */
  readonly open: () => Promise<void>
}

export function startWorkers(setting: Sending, options: WorkersOptions): FederationWorkers {
  const { clock, log } = setting
  const { storage, acks, open } = options
  if (setting.origin === undefined) log?.error?.({}, 'the origin of this server is not set: no delivery can be sent')
  const deliveryWorker = new FederationWorker<FederationDeliveryJob>({
    config: deliveryQueueConfig(setting, storage),
    clock,
    process: async (job) => {
      await open()
      await processFederationDelivery(setting, job, acks)
    },
  })
  const healthCheckWorker = new FederationWorker<HealthCheckJob>({
    config: healthCheckQueueConfig(setting, storage),
    clock,
    process: async (job) => {
      await open()
      await processHealthCheck(setting, job)
    },
  })
  reportDeliveries(setting, deliveryWorker)
  reportHealthChecks(setting, healthCheckWorker)
  const upkeep = startUpkeep(setting, options.deliveryQueue, open)
  healthCheckWorker.once('ready', () => {
    open()
      .then(() => resumeHealthChecks(setting))
      .catch((error: unknown) => log?.error?.({ code: failureCode(error) }, 'health checks could not be resumed'))
  })
  deliveryWorker.start()
  healthCheckWorker.start()
  return {
    deliveryWorker,
    healthCheckWorker,
    stop: async (timeout) => {
      await Promise.all([upkeep.stop(), deliveryWorker.close(timeout), healthCheckWorker.close(timeout)])
      await deliveryWorker.idle()
    },
  }
}

function reportDeliveries(setting: Sending, worker: FederationWorker<FederationDeliveryJob>): void {
  const { log, store, clock } = setting
  worker.on('ready', () => log?.info?.({ queue: worker.queue.name }, 'the delivery worker is connected'))
  worker.on('error', (error) => log?.error?.(aboutError(error), 'the delivery worker met an error'))
  worker.on('failed', (failed) => {
    reportFailed(setting, failed)
    const code = failureCode(failed.error)
    // Other ends are written by the attempt itself; this one did not come to its end.
    if (!failed.isFinal || code !== 'STALLED') return
    worker.after(() => store.deliveries.failed(failed.job?.data.deliveryJobId ?? failed.id, code, clock.now()))
  })
  worker.on('completed', (id, job) => {
    worker.after(async () => {
      await store.deliveries.remove(job?.data.deliveryJobId ?? id)
      if (job) setting.emit('delivered', { id, name: job.name, origin: job.data.serverUrl })
    })
  })
}

function reportFailed(setting: Sending, { id, job, error, isFinal }: FailedAttempt<FederationDeliveryJob>): void {
  const code = failureCode(error)
  const { attempt = 0, maxAttempts = 0, data } = job ?? {}
  const retriesLeft = isFinal ? 0 : Math.max(0, maxAttempts - attempt)
  const about = {
    jobId: id,
    method: methodOf(data?.payload),
    target: withoutQuery(data?.targetUrl),
    attempt,
    retriesLeft,
  }
  setting.log?.warn?.({ ...about, ...aboutError(error) }, `a delivery failed: ${error.message}`)
  const origin = withoutQuery(data?.serverUrl)
  if (isFinal) setting.emit('delivery_failed', { id, origin, code })
  else setting.emit('delivery_failing', { id, origin, attempt, code })
}

function reportHealthChecks({ log }: Sending, worker: FederationWorker<HealthCheckJob>): void {
  worker.on('ready', () => log?.info?.({ queue: worker.queue.name }, 'the health check worker is connected'))
  worker.on('error', (error) => log?.error?.(aboutError(error), 'the health check worker met an error'))
  worker.on('failed', ({ id, error }) => {
    log?.warn?.({ jobId: id, ...aboutError(error) }, `a health check failed: ${error.message}`)
  })
}

/** A crash between a mark and its check leaves a peer that nobody would look at. The ids make this harmless. */
async function resumeHealthChecks(setting: Sending): Promise<void> {
  const { policies, store } = setting
  const filter = { reasons: checkableReasons(policies), attemptsBelow: policies.health.maxAttempts, limit: 1_000 }
  for (const peer of await store.peers.listUnhealthy(filter)) {
    await setting.scheduleHealthCheck(peer.url, peer.healthCheckAttempts)
  }
}

const aboutError = (error: Error): object => ({ code: failureCode(error), error: error.message })

/** A query may hold what does not belong in a log. */
function withoutQuery(url: unknown): string {
  const parsed = typeof url === 'string' ? URL.parse(url) : null
  if (!parsed || !parsed.protocol.startsWith('http')) return 'unknown'
  return parsed.pathname === '/' ? parsed.origin : parsed.origin + parsed.pathname
}
