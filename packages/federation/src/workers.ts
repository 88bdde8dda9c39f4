// The two workers of a federation: their processors, their log lines, and what happens at their start.

import { rateLimited, retryUntilReady, type Storage } from 'holdfast'
import type { SendingContext } from './context.ts'
import { askedWaitMs, waitScopeOf } from './deliver/asked-to-wait.ts'
import type { AckHandlers } from './deliver/dispatch-ack.ts'
import { failureCode, processFederationDelivery } from './deliver/process.ts'
import { contactName } from './peers/contacts.ts'
import { methodOf } from './deliver/read-payload.ts'
import type { FederationDeliveryJob, HealthCheckJob } from './jobs.ts'
import { resolveStopOptions, type RunOptions, runUntilStopped, type StopOptions } from './life-cycle.ts'
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
   * unreachable. @throws FederationError MIGRATION_PENDING, and StorageError that no retry can help against
   */
  start(): Promise<void>
  /** Starts, and resolves when stop() has ended. @param options.signal stops it @throws as start() */
  run(options?: RunOptions): Promise<void>
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
  const { logger } = context
  const { storage, acks, open } = options
  if (context.origin === undefined) {
    logger?.error?.(
      {},
      'federation: the origin of this server is not set. Every delivery will fail. Set BETTER_AUTH_URL.',
    )
  }
  // The log lines of this file replace the engine's own, which would tell every failure a second time.
  const dependencies = { ...context, logger: undefined }
  /** Attempts whose acknowledgement was not verified. */
  const unproven = new WeakSet<object>()
  const deliveryWorker = new FederationWorker<FederationDeliveryJob>({
    // The limits are declared by workers alone: producers need none, and would read them before they add.
    config: {
      ...deliveryQueueConfig(dependencies, storage),
      limits: { group: { limit: context.policies.delivery.perPeer } },
      onError: (error) => {
        const retryAfterMs = askedWaitMs(error)
        return retryAfterMs === undefined ? undefined : rateLimited({ retryAfterMs, scope: waitScopeOf(error) })
      },
    },
    process: async (job, acceptedAt) => {
      await open()
      const { isProven } = await processFederationDelivery(context, job, acks, acceptedAt)
      if (!isProven) unproven.add(job)
    },
  })
  const healthCheckWorker = new FederationWorker<HealthCheckJob>({
    config: healthCheckQueueConfig(dependencies, storage),
    process: async (job) => {
      await open()
      await (job.name === contactName
        ? context.contacts?.resume(context, job.data.serverUrl)
        : processHealthCheck(context, job))
    },
  })
  reportDeliveries(context, deliveryWorker, unproven)
  reportHealthChecks(context, healthCheckWorker)
  const upkeep = startUpkeep(context, options.deliveryQueue, open)
  const stopSignal = new AbortController()
  const opening = openTables(context, open, stopSignal.signal)
  healthCheckWorker.once('ready', () => {
    opening
      .then(async (isOpen) => void (isOpen && !context.contacts && (await resumeHealthChecks(context))))
      .catch((error: Error) => logger?.error?.(errorFields(error), 'federation: health checks could not be resumed'))
  })
  deliveryWorker.once('ready', () => {
    opening
      .then(async (isOpen) => void (isOpen && (await context.slots.reconcile((origin) => isUnwell(context, origin)))))
      .catch((error: Error) => logger?.warn?.(errorFields(error), 'federation: limits of peers could not be read'))
  })
  const ready = Promise.all([opening, deliveryWorker.start(), healthCheckWorker.start()])
  // startWorkers() has no promise to reject. The `error` events of the workers and the log lines report the failure.
  ready.catch(() => {})
  const ended = Promise.withResolvers<void>()
  const workers: FederationWorkers = {
    deliveryWorker,
    healthCheckWorker,
    start: async () => void (await ready),
    run: (runOptions) => runUntilStopped(workers, ended.promise, runOptions),
    stop: async (stopOptions) => {
      const resolved = resolveStopOptions(stopOptions)
      stopSignal.abort()
      const both = [deliveryWorker, healthCheckWorker].map((worker) => worker.stop(resolved))
      await Promise.all([upkeep.stop(), ...both]).finally(ended.resolve)
    },
    [Symbol.asyncDispose]: () => workers.stop(),
  }
  return workers
}

/** Resolves to true when the tables are open, to false if the signal aborted first. */
function openTables(
  { clock, logger }: SendingContext,
  open: () => Promise<void>,
  signal: AbortSignal,
): Promise<boolean> {
  const onFailure = (error: Error): void =>
    logger?.error?.(errorFields(error), 'federation: the tables cannot be opened. Another attempt follows.')
  return retryUntilReady(open, { clock, signal, onFailure }).catch((error: Error) => {
    logger?.error?.(errorFields(error), 'federation: the tables cannot be opened. No delivery can be made.')
    throw error
  })
}

function reportDeliveries(
  context: SendingContext,
  worker: FederationWorker<FederationDeliveryJob>,
  unproven: WeakSet<object>,
): void {
  const { logger, store, clock } = context
  worker.on('ready', () => logger?.info?.({ queue: worker.queue.name }, 'the delivery worker is connected'))
  worker.on('error', (error) => logger?.error?.(errorFields(error), 'the delivery worker met an error'))
  reportQueue(context, worker)
  worker.on('failed', (failed) => {
    reportFailed(context, failed)
    const code = failureCode(failed.error)
    // An attempt writes its own end to the row. A stalled attempt had no chance to.
    if (!failed.isFinal || code !== 'STALLED') return
    worker.followUp(() => store.deliveries.failed(failed.job?.data.deliveryJobId ?? failed.id, code, clock.now()))
  })
  worker.on('waiting', ({ id, job, retryAfterMs }) => {
    const origin = withoutQuery(job?.data.serverUrl)
    logger?.info?.({ jobId: id, origin, retryAfterMs }, `a delivery to ${origin} waits. No attempt was spent.`)
    context.emit('delivery_waiting', { id, origin, retryAfterMs })
  })
  worker.on('completed', (id, job) => {
    worker.followUp(async () => {
      await store.deliveries.remove(job?.data.deliveryJobId ?? id)
      if (!job) return
      context.emit('delivered', { id, name: job.name, origin: job.data.serverUrl, isProven: !unproven.has(job) })
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

function reportHealthChecks(context: SendingContext, worker: FederationWorker<HealthCheckJob>): void {
  const { logger } = context
  worker.on('ready', () => logger?.info?.({ queue: worker.queue.name }, 'the health check worker is connected'))
  worker.on('error', (error) => logger?.error?.(errorFields(error), 'the health check worker met an error'))
  reportQueue(context, worker)
  worker.on('failed', ({ id, error }) => {
    logger?.warn?.({ jobId: id, ...errorFields(error) }, `a health check failed: ${error.message}`)
  })
}

/** Log lines of both workers that need no detail of their jobs. */
function reportQueue<Data>({ logger }: SendingContext, { queue }: FederationWorker<Data>): void {
  queue.on('stopped', () => logger?.info?.({ queue: queue.name }, `queue '${queue.name}': worker stopped`))
  queue.on('released', (id) => {
    logger?.info?.({ queue: queue.name, jobId: id }, `job '${id}' was released. It runs again without a spent attempt.`)
  })
  queue.on('fenced', (id, attempt, verdict) => {
    const fields = { queue: queue.name, jobId: id, attempt, verdict }
    logger?.warn?.(fields, `job '${id}': the outcome of attempt ${attempt} was refused (${verdict})`)
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

/** Whether a peer has the lower limit of deliveries. */
async function isUnwell({ store, contacts }: SendingContext, origin: string): Promise<boolean> {
  if (!contacts) return (await store.peers.get(origin))?.isHealthy === false
  const state = (await store.peerStates.get(origin))?.state
  return state === 'suspect' || state === 'down' || state === 'dead'
}

const errorFields = (error: Error): object => ({ code: failureCode(error), error: error.message })

/** A query may hold a secret, so no log line has one. */
function withoutQuery(url: unknown): string {
  const parsed = typeof url === 'string' ? URL.parse(url) : null
  if (!parsed || !parsed.protocol.startsWith('http')) return 'unknown'
  return parsed.pathname === '/' ? parsed.origin : parsed.origin + parsed.pathname
}
