// The two workers of a federation: their processors, their log lines, and what happens at their start.

import type { Storage } from 'holdfast'
import type { SendingContext } from './context.ts'
import type { AckHandlers } from './deliver/dispatch-ack.ts'
import { failureCode, processFederationDelivery } from './deliver/process.ts'
import { methodOf } from './deliver/read-payload.ts'
import type { FederationDeliveryJob, HealthCheckJob } from './jobs.ts'
import { resolveStopOptions, retryUntilReady, type StopOptions } from './life-cycle.ts'
import { processHealthCheck } from './peers/process-health-check.ts'
import { checkableReasons } from './peers/threat-policy.ts'
import { deliveryQueueConfig, type FederationQueue, healthCheckQueueConfig } from './queues.ts'
import { startUpkeep } from './upkeep.ts'
import { type FailedAttempt, FederationWorker } from './worker.ts'

/** Both workers, with the life-cycle of one. */
export interface FederationWorkers extends AsyncDisposable {
  readonly deliveryWorker: FederationWorker<FederationDeliveryJob>
  readonly healthCheckWorker: FederationWorker<HealthCheckJob>
  /**
   * Resolves when both workers take jobs and the tables are open, or when stop() came first. Retries while a database is
   * unreachable. @throws FederationError MIGRATION_PENDING, HoldfastError MISSING_DEPENDENCY
   */
  start(): Promise<void>
  /** Starts, and resolves when stop() has ended. @throws as start() */
  run(): Promise<void>
  /** Takes no new job and waits up to `graceMs` for running attempts. The federation itself stays open. */
  stop(options?: StopOptions): Promise<void>
}

export interface WorkersOptions {
  readonly storage: Storage
  readonly acks: AckHandlers
  readonly deliveryQueue: FederationQueue<FederationDeliveryJob>
  /** Resolves once the tables are open. */
  readonly open: () => Promise<void>
}

/** Makes both workers and starts them in the background. */
export function startWorkers(context: SendingContext, options: WorkersOptions): FederationWorkers {
  const { clock, logger } = context
  const { storage, acks, open } = options
  if (context.origin === undefined) {
    logger?.error?.(
      {},
      'federation: the origin of this server is not set. Every delivery will fail. Set BETTER_AUTH_URL.',
    )
  }
  const deliveryWorker = new FederationWorker<FederationDeliveryJob>({
    config: deliveryQueueConfig(context, storage),
    clock,
    process: async (job) => {
      await open()
      await processFederationDelivery(context, job, acks)
    },
  })
  const healthCheckWorker = new FederationWorker<HealthCheckJob>({
    config: healthCheckQueueConfig(context, storage),
    clock,
    process: async (job) => {
      await open()
      await processHealthCheck(context, job)
    },
  })
  reportDeliveries(context, deliveryWorker)
  reportHealthChecks(context, healthCheckWorker)
  const upkeep = startUpkeep(context, options.deliveryQueue, open)
  const stopSignal = new AbortController()
  const onError = (error: Error): void => logger?.error?.(errorFields(error), 'federation: the tables cannot be opened')
  const opening = retryUntilReady(open, { clock, signal: stopSignal.signal, onError })
  healthCheckWorker.once('ready', () => {
    opening
      .then(async () => void (stopSignal.signal.aborted || (await resumeHealthChecks(context))))
      .catch((error: Error) => logger?.error?.(errorFields(error), 'federation: health checks could not be resumed'))
  })
  const ready = Promise.all([opening, deliveryWorker.start(), healthCheckWorker.start()])
  // Without a caller of start() there is no one to reject: the workers' `error` events and the log lines tell it.
  ready.catch(() => {})
  const workers: FederationWorkers = {
    deliveryWorker,
    healthCheckWorker,
    start: async () => void (await ready),
    run: async () => {
      await ready
      await Promise.all([deliveryWorker.run(), healthCheckWorker.run()])
    },
    stop: async (stopOptions) => {
      const resolved = resolveStopOptions(stopOptions)
      stopSignal.abort()
      await Promise.all([upkeep.stop(), deliveryWorker.stop(resolved), healthCheckWorker.stop(resolved)])
    },
    [Symbol.asyncDispose]: () => workers.stop(),
  }
  return workers
}

function reportDeliveries(context: SendingContext, worker: FederationWorker<FederationDeliveryJob>): void {
  const { logger, store, clock } = context
  worker.on('ready', () => logger?.info?.({ queue: worker.queue.name }, 'the delivery worker is connected'))
  worker.on('error', (error) => logger?.error?.(errorFields(error), 'the delivery worker met an error'))
  worker.on('failed', (failed) => {
    reportFailed(context, failed)
    const code = failureCode(failed.error)
    // An attempt writes its own end to the row. A stalled attempt had no chance to.
    if (!failed.isFinal || code !== 'STALLED') return
    worker.followUp(() => store.deliveries.failed(failed.job?.data.deliveryJobId ?? failed.id, code, clock.now()))
  })
  worker.on('completed', (id, job) => {
    worker.followUp(async () => {
      await store.deliveries.remove(job?.data.deliveryJobId ?? id)
      if (job) context.emit('delivered', { id, name: job.name, origin: job.data.serverUrl })
    })
  })
}

function reportFailed(context: SendingContext, failed: FailedAttempt<FederationDeliveryJob>): void {
  const { id, job, error, isFinal } = failed
  const code = failureCode(error)
  const { attempt = 0, maxAttempts = 0, data } = job ?? {}
  const retriesLeft = isFinal ? 0 : Math.max(0, maxAttempts - attempt)
  const fields = {
    jobId: id,
    method: methodOf(data?.payload),
    target: withoutQuery(data?.targetUrl),
    attempt,
    retriesLeft,
  }
  context.logger?.warn?.({ ...fields, ...errorFields(error) }, `a delivery failed: ${error.message}`)
  const origin = withoutQuery(data?.serverUrl)
  if (isFinal) context.emit('delivery_failed', { id, origin, code })
  else context.emit('delivery_failing', { id, origin, attempt, code })
}

function reportHealthChecks({ logger }: SendingContext, worker: FederationWorker<HealthCheckJob>): void {
  worker.on('ready', () => logger?.info?.({ queue: worker.queue.name }, 'the health check worker is connected'))
  worker.on('error', (error) => logger?.error?.(errorFields(error), 'the health check worker met an error'))
  worker.on('failed', ({ id, error }) => {
    logger?.warn?.({ jobId: id, ...errorFields(error) }, `a health check failed: ${error.message}`)
  })
}

/** Schedules the check of every unhealthy peer: a process may have died between the mark and its check. Ids deduplicate. */
async function resumeHealthChecks(context: SendingContext): Promise<void> {
  const { policies, store } = context
  const filter = { reasons: checkableReasons(policies), attemptsBelow: policies.health.maxAttempts, limit: 1_000 }
  for (const peer of await store.peers.listUnhealthy(filter)) {
    await context.scheduleHealthCheck(peer.url, peer.healthCheckAttempts)
  }
}

const errorFields = (error: Error): object => ({ code: failureCode(error), error: error.message })

/** A query may hold a secret, so no log line has one. */
function withoutQuery(url: unknown): string {
  const parsed = typeof url === 'string' ? URL.parse(url) : null
  if (!parsed || !parsed.protocol.startsWith('http')) return 'unknown'
  return parsed.pathname === '/' ? parsed.origin : parsed.origin + parsed.pathname
}
