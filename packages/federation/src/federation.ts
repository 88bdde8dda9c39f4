// A federation: the entry point to all its parts. Longer than other files because each member is documented here, and delegates
// in a line or two.

import { channel } from 'node:diagnostics_channel'
import { EventEmitter } from 'node:events'
import { contextOf, type FederationParts, queuesOf } from './assemble.ts'
import { type ConnectOnce, connectOnce } from './connect-once.ts'
import { type DeadLetters, deadLettersOf } from './dead-letters.ts'
import { handleFollowAck } from './deliver/follow-ack.ts'
import { failureCode, processFederationDelivery } from './deliver/process.ts'
import { decideFollow, type FollowDecision } from './decide-follow.ts'
import { follow, type FollowResult, type FollowRequest, unfollow } from './follow.ts'
import { createHandler, type FederationHandler } from './inbound/handler.ts'
import type { FederationDeliveryJob, HealthCheckJob, ProcessorJob } from './jobs.ts'
import { resolveStopOptions, type RunOptions, runUntilStopped, type StopOptions } from './life-cycle.ts'
import { exposition } from './metrics/exposition.ts'
import { discoverAndRegister } from './peers/discover.ts'
import { federationFetch, type FederationFetchOptions, type FederationResponse } from './peers/federation-fetch.ts'
import { markServerHealthy, markServerUnhealthy } from './peers/health.ts'
import { type Peers, peersOf } from './peers/operator.ts'
import { type Activity, type OutboxDependencies, send, type SendOptions, type SendResult } from './outbox.ts'
import { processHealthCheck } from './peers/process-health-check.ts'
import { getThreatPolicy } from './peers/threat-policy.ts'
import type { ThreatPolicy, UnhealthyReason } from './peers/threats.ts'
import { type FederationQueue, scheduleHealthCheck } from './queues.ts'
import type { FederationEvents, SendingContext } from './context.ts'
import { decryptPayload, encryptPayload } from './wire/v1/envelope.ts'
import type { AckPayload, EncryptedEnvelope } from './wire/v1/messages.ts'
import { type FederationWorkers, startWorkers } from './workers.ts'

/** Every event of every federation of this process, as `{ event, server, data }`. */
const diagnostics = channel('holdfast:federation')

export class Federation extends EventEmitter<FederationEvents> implements AsyncDisposable {
  /** Canonical origin of this server. Undefined only if the environment does not set it. */
  readonly origin: string | undefined
  /** Queue of deliveries, one job each. A job should have a row in the store; follow() writes both. */
  readonly deliveryQueue: FederationQueue<FederationDeliveryJob>
  /** Queue of health checks. */
  readonly healthCheckQueue: FederationQueue<HealthCheckJob>
  /** Request handler of the receiving side. Mount it on your server; for node:http, wrap it with nodeListener(). */
  readonly handler: FederationHandler
  /** The operator's view of other servers. */
  readonly peers: Peers
  /** Deliveries that failed for good. */
  readonly deadLetters: DeadLetters
  readonly #parts: FederationParts
  readonly #context: SendingContext
  readonly #tables: ConnectOnce
  #workers: FederationWorkers | undefined
  #stopping: Promise<void> | undefined
  readonly #ended = Promise.withResolvers<void>()

  /** @internal Made by createFederation(). */
  constructor(parts: FederationParts) {
    super()
    this.#parts = parts
    this.#tables = connectOnce(parts.store)
    this.origin = parts.origin
    const queues = queuesOf(parts)
    this.deliveryQueue = queues.deliveryQueue
    this.healthCheckQueue = queues.healthCheckQueue
    this.#context = contextOf(parts, queues, (event, ...args) => this.#emit(event, args))
    const handle = createHandler(this.#context, { handlers: parts.handlers })
    this.handler = async (request, from) => {
      await this.#tables.open()
      return handle(request, from)
    }
    this.peers = peersOf(this.#context, this.deliveryQueue.queue, this.#tables.open)
    this.deadLetters = deadLettersOf(this.#context, this.deliveryQueue, this.#tables.open)
  }

  // ── life-cycle ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Opens the tables. Every member does so on its first use; call it at start to learn of problems early.
   * @throws FederationError MIGRATION_PENDING, StorageError
   */
  async connect(): Promise<void> {
    await this.#tables.open()
  }

  /**
   * Starts both workers. Resolves when they take jobs and the tables are open, or when stop() came first. Retries while a
   * database is unreachable. @throws FederationError MIGRATION_PENDING, HoldfastError MISSING_DEPENDENCY
   */
  async start(): Promise<void> {
    await this.startWorkers().start()
  }

  /** Starts both workers, and resolves when stop() has ended. @param options.signal stops it @throws as start() */
  async run(options?: RunOptions): Promise<void> {
    await runUntilStopped(this, this.#ended.promise, options)
  }

  /** Starts both workers in the background and returns them. Later calls return the same ones. start() also waits. */
  readonly startWorkers = (): FederationWorkers => {
    const { workerStorage, acks } = this.#parts
    this.#workers ??= startWorkers(this.#context, {
      storage: workerStorage,
      acks,
      deliveryQueue: this.deliveryQueue,
      open: this.#tables.open,
    })
    return this.#workers
  }

  /**
   * Takes no new job, waits up to `graceMs` (30 s by default) for running attempts, and closes all connections. An attempt that
   * has not ended by then is released: its job runs again later. @throws TypeError INVALID_ARGUMENT
   */
  async stop(options?: StopOptions): Promise<void> {
    const resolved = resolveStopOptions(options)
    this.#stopping ??= this.#stop(resolved).finally(this.#ended.resolve)
    return this.#stopping
  }

  async #stop(options: StopOptions): Promise<void> {
    await this.#workers?.stop(options)
    await Promise.all([this.deliveryQueue.close(), this.healthCheckQueue.close()])
    this.#parts.http.close()
    await this.#tables.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  // ── sending ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Follows a user on another server: writes the follow, the row of the delivery and its job.
   * @param tx a transaction of yours that all three become part of @throws FederationError ORIGIN_INVALID, ORIGIN_MISSING
   */
  async follow(request: FollowRequest, tx?: unknown): Promise<FollowResult> {
    await this.#tables.open()
    return follow(this.#context, this.#outbox, request, tx)
  }

  /**
   * Takes a follow back: removes its row and tells the other server, after the follow. Returns false if there is no such follow.
   * @param tx as that of follow() @throws FederationError ORIGIN_INVALID, ORIGIN_MISSING
   */
  async unfollow(request: FollowRequest, tx?: unknown): Promise<boolean> {
    await this.#tables.open()
    return unfollow(this.#context, this.#outbox, request, tx)
  }

  /**
   * Accepts or rejects later a follow of a user of this server, and tells the follower's server. Returns false if there is no such follow.
   * @param tx as that of follow() @throws FederationError ORIGIN_INVALID, ORIGIN_MISSING
   */
  async decideFollow(decision: FollowDecision, tx?: unknown): Promise<boolean> {
    await this.#tables.open()
    return decideFollow(this.#context, this.#outbox, decision, tx)
  }

  /**
   * Sends an activity to other servers: one stored body, a delivery and a job per server, in one transaction.
   * @param options.tx as that of follow() @throws FederationError ORIGIN_INVALID, ORIGIN_MISSING, TypeError INVALID_ARGUMENT
   */
  async send(activity: Activity, recipients: readonly string[], options?: SendOptions): Promise<SendResult[]> {
    await this.#tables.open()
    return send(this.#context, this.#outbox, activity, recipients, options)
  }

  /** Returns metrics of this federation in the text format of Prometheus: those of this process, and those of its tables. */
  async metrics(): Promise<string> {
    await this.#tables.open()
    const { deliveryWorker, healthCheckWorker } = this.#workers ?? {}
    return exposition(this.#context, {
      delivery: deliveryWorker?.running ?? 0,
      'health-check': healthCheckWorker?.running ?? 0,
    })
  }

  get #outbox(): OutboxDependencies {
    return { storage: this.#parts.storage, queue: this.deliveryQueue }
  }

  /** Alias of `deliveryQueue`. */
  readonly getFederationQueue = (): FederationQueue<FederationDeliveryJob> => this.deliveryQueue

  /** Alias of `healthCheckQueue`. */
  readonly getHealthCheckQueue = (): FederationQueue<HealthCheckJob> => this.healthCheckQueue

  /** Alias of `startWorkers()`. */
  readonly startFederationWorker = (): FederationWorkers => this.startWorkers()

  /**
   * Schedules check number `attempt` of a peer, from 0, after `policies.health.delayMs(attempt)`. A repeat changes nothing.
   * @throws TypeError INVALID_ARGUMENT, FederationError ORIGIN_INVALID
   */
  readonly scheduleHealthCheck = (serverUrl: string, attempt: number): Promise<void> => {
    return scheduleHealthCheck(this.#parts, this.healthCheckQueue, serverUrl, attempt)
  }

  /**
   * Runs one attempt at a delivery.
   * @throws UnrecoverableError: no retry; an error with `retryAfterMs`: later, without a spent attempt; any other error: retry
   */
  readonly processFederationDelivery = async (job: ProcessorJob<FederationDeliveryJob>): Promise<void> => {
    await this.#tables.open()
    await processFederationDelivery(this.#context, job, this.#parts.acks)
  }

  /** Runs one health check, and schedules the next one if it fails. */
  readonly processHealthCheck = async (job: ProcessorJob<HealthCheckJob>): Promise<void> => {
    await this.#tables.open()
    return processHealthCheck(this.#context, job)
  }

  /**
   * Applies the acknowledgement of a follow. Applying it again changes nothing.
   * @throws UnrecoverableError ACK_INVALID, SIGNING_KEY_MISSING, ACK_SIGNATURE_INVALID
   */
  readonly handleFollowAck = async (
    ackPayload: AckPayload,
    serverUrl: string,
    cachedServerPublicKey: string | undefined,
    deliveryJobId: string,
    jobId: string | undefined,
  ): Promise<void> => {
    await this.#tables.open()
    return handleFollowAck(this.#context, ackPayload, serverUrl, cachedServerPublicKey, deliveryJobId, jobId)
  }

  // ── peers ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Fetches and pins the keys of a server, and registers with it. Returns its encryption key, base64. @throws DiscoveryError */
  readonly discoverAndRegister = async (serverUrl: string): Promise<string> => {
    await this.#tables.open()
    return discoverAndRegister(this.#context, serverUrl)
  }

  /** Sends a request to a peer, by a relay if the direct way fails and the options allow it. @throws FederationError */
  readonly federationFetch = async (url: string, options?: FederationFetchOptions): Promise<FederationResponse> => {
    await this.#tables.open()
    return federationFetch(this.#context, url, options)
  }

  /** Marks a peer as healthy and ends its health checks. */
  readonly markServerHealthy = async (url: string): Promise<void> => {
    await this.#tables.open()
    return markServerHealthy(this.#context, url)
  }

  /** Marks a peer as unhealthy and schedules its health check. A server without a row is left alone. */
  readonly markServerUnhealthy = async (url: string, reason: UnhealthyReason): Promise<void> => {
    await this.#tables.open()
    return markServerUnhealthy(this.#context, url, reason)
  }

  /** What a reason allows: a relay, a health check. */
  readonly getThreatPolicy = (reason: UnhealthyReason): ThreatPolicy => getThreatPolicy(this.#parts.policies, reason)

  // ── cryptography ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** Encrypts text for a recipient. @param publicKey the recipient's X25519 key, 32 bytes @throws FederationError KEY_INVALID */
  readonly encryptPayload = (text: string, publicKey: Uint8Array): EncryptedEnvelope => encryptPayload(text, publicKey)

  /** Decrypts an envelope with the key of this server. @throws FederationError DECRYPT_FAILED */
  readonly decryptPayload = (envelope: unknown): Promise<string> => decryptPayload(envelope, this.#parts.keyring)

  /** A listener that throws is logged: it must neither end a delivery nor keep other listeners from the event. */
  #emit<E extends keyof FederationEvents>(event: E, args: FederationEvents[E]): void {
    this.#context.metrics.record(event, args)
    if (diagnostics.hasSubscribers) diagnostics.publish({ event, server: this.origin, data: args[0] })
    for (const listener of this.rawListeners(event)) {
      try {
        Reflect.apply(listener, this, args)
      } catch (error) {
        this.#parts.logger?.error?.(
          { event, code: failureCode(error) },
          `federation: a listener of '${event}' threw an error`,
        )
      }
    }
  }
}
