// A federation: the door to all its parts. Longer than other files because it is the door: each member hands on, with its
// documentation.

import { EventEmitter } from 'node:events'
import { type Clock, HoldfastError, type Logger, type Storage } from 'holdfast'
import { type DeadLetters, deadLettersOf } from './dead-letters.ts'
import type { AckHandlers } from './deliver/dispatch-ack.ts'
import { handleFollowAck } from './deliver/follow-ack.ts'
import { failureCode, processFederationDelivery } from './deliver/process.ts'
import { follow, type Followed, type FollowRequest } from './follow.ts'
import type { HttpClient } from './http/client.ts'
import { createHandler, type FederationHandler } from './inbound/handler.ts'
import type { InboundHandlers } from './inbound/handlers.ts'
import type { FederationDeliveryJob, HealthCheckJob, ProcessorJob } from './jobs.ts'
import type { Keyring } from './keyring.ts'
import { discoverAndRegister } from './peers/discover.ts'
import { federationFetch, type FederationFetchOptions, type FederationResponse } from './peers/federation-fetch.ts'
import { markServerHealthy, markServerUnhealthy } from './peers/health.ts'
import { type Peers, peersOf } from './peers/operator.ts'
import { processHealthCheck } from './peers/process-health-check.ts'
import { getThreatPolicy } from './peers/threat-policy.ts'
import type { ThreatPolicy, UnhealthyReason } from './peers/threats.ts'
import type { Policies } from './policies.ts'
import {
  deliveryQueueConfig,
  federationQueue,
  type FederationQueue,
  healthCheckQueueConfig,
  scheduleHealthCheck,
} from './queues.ts'
import type { FederationEvents, Sending } from './setting.ts'
import type { Store } from './store/store.ts'
import { decryptPayload, encryptPayload } from './wire/v1/envelope.ts'
import type { AckPayload, EncryptedEnvelope } from './wire/v1/messages.ts'
import { type FederationWorkers, startWorkers } from './workers.ts'

/** Complete: create.ts and env.ts make it. */
export interface FederationParts {
  readonly origin: string | undefined
  readonly allowHttp: boolean
  /** For those who add jobs, */
  readonly storage: Storage
  /** and for those who run them: another connection to the same, or the same. */
  readonly workerStorage: Storage
  readonly store: Store
  readonly keyring: Keyring
  readonly http: HttpClient
  readonly policies: Policies
  readonly handlers: InboundHandlers
  readonly acks: AckHandlers
  readonly clock: Clock
  readonly log: Logger | undefined
}

export class Federation extends EventEmitter<FederationEvents> {
  /** Canonical; undefined only by way of the environment. */
  readonly origin: string | undefined
  /** Jobs are deliveries. What is added here should have its row in the store; follow() sees to both. */
  readonly deliveryQueue: FederationQueue<FederationDeliveryJob>
  readonly healthCheckQueue: FederationQueue<HealthCheckJob>
  /** The receiving side: mount it where this server answers, with nodeListener() in node:http. */
  readonly handler: FederationHandler
  readonly peers: Peers
  readonly deadLetters: DeadLetters
  readonly #parts: FederationParts
  readonly #setting: Sending
  #opening: Promise<void> | undefined
  #workers: FederationWorkers | undefined
  #stopping: Promise<void> | undefined

  /** @internal Made by createFederation(). */
  constructor(parts: FederationParts) {
    super()
    this.#parts = parts
    this.origin = parts.origin
    const { origin, allowHttp, store, keyring, http, policies, clock, log } = parts
    const ground = { policies, clock, log }
    this.deliveryQueue = federationQueue(
      deliveryQueueConfig(ground, parts.storage),
      ({ deliveryJobId }) => deliveryJobId,
    )
    this.healthCheckQueue = federationQueue(healthCheckQueueConfig(ground, parts.storage), () => clock.newId())
    this.#setting = {
      origin,
      allowHttp,
      store,
      keyring,
      http,
      policies,
      clock,
      log,
      emit: (event, ...args) => this.#emit(event, args),
      scheduleHealthCheck: this.scheduleHealthCheck,
    }
    const handle = createHandler(this.#setting, { handlers: parts.handlers })
    this.handler = async (request, from) => {
      await this.#open()
      return handle(request, from)
    }
    this.peers = peersOf(this.#setting, this.#open)
    this.deadLetters = deadLettersOf(this.#setting, this.deliveryQueue, this.#open)
  }

  // ── life-cycle ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Opens the tables. Every member does so by itself; called at start, what is wrong is known then. @throws MIGRATION_PENDING */
  async connect(): Promise<void> {
    await this.#open()
  }

  /** Starts both workers, once: later calls give the same ones. */
  readonly startWorkers = (): FederationWorkers => {
    const { workerStorage, acks } = this.#parts
    this.#workers ??= startWorkers(this.#setting, {
      storage: workerStorage,
      acks,
      deliveryQueue: this.deliveryQueue,
      open: this.#open,
    })
    return this.#workers
  }

  /** Takes no new job, lets those under way end, and closes everything. @param options.timeout in ms @default 30_000 */
  stop(options: { readonly timeout?: number } = {}): Promise<void> {
    this.#stopping ??= this.#stop(options.timeout)
    return this.#stopping
  }

  async #stop(timeout: number | undefined): Promise<void> {
    const opened = this.#opening?.then(
      () => true,
      () => false,
    )
    await this.#workers?.stop(timeout)
    await Promise.all([this.deliveryQueue.close(), this.healthCheckQueue.close()])
    this.#parts.http.close()
    if (await opened) await this.#parts.store.disconnect()
  }

  // ── sending ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Follows a user on another server: the follows row, the delivery's row and its job. With `tx`, as part of a transaction of yours.
   * @throws FederationError ORIGIN_INVALID
   */
  async follow(request: FollowRequest, tx?: unknown): Promise<Followed> {
    await this.#open()
    return follow(this.#setting, { storage: this.#parts.storage, queue: this.deliveryQueue }, request, tx)
  }

  /** The outbox. Not in this profile. @throws HoldfastError FEATURE_UNSUPPORTED */
  async send(..._request: readonly unknown[]): Promise<never> {
    throw new HoldfastError('FEATURE_UNSUPPORTED', 'send() is for the profile `hardened`: use deliveryQueue.add()')
  }

  readonly getFederationQueue = (): FederationQueue<FederationDeliveryJob> => this.deliveryQueue

  readonly getHealthCheckQueue = (): FederationQueue<HealthCheckJob> => this.healthCheckQueue

  readonly startFederationWorker = (): FederationWorkers => this.startWorkers()

  /** Check number `attempt` of this server, from 0: after `policies.health.delayMs(attempt)`, once. */
  readonly scheduleHealthCheck = (serverUrl: string, attempt: number): Promise<void> => {
    const { policies, clock, log, allowHttp } = this.#parts
    return scheduleHealthCheck({ policies, clock, log, allowHttp }, this.healthCheckQueue, serverUrl, attempt)
  }

  readonly processFederationDelivery = async (job: ProcessorJob<FederationDeliveryJob>): Promise<void> => {
    await this.#open()
    return processFederationDelivery(this.#setting, job, this.#parts.acks)
  }

  readonly processHealthCheck = async (job: ProcessorJob<HealthCheckJob>): Promise<void> => {
    await this.#open()
    return processHealthCheck(this.#setting, job)
  }

  readonly handleFollowAck = async (
    ackPayload: AckPayload,
    serverUrl: string,
    cachedServerPublicKey: string | undefined,
    deliveryJobId: string,
    jobId: string | undefined,
  ): Promise<void> => {
    await this.#open()
    return handleFollowAck(this.#setting, ackPayload, serverUrl, cachedServerPublicKey, deliveryJobId, jobId)
  }

  // ── peers ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Gives the encryption key, base64. @throws DiscoveryError */
  readonly discoverAndRegister = async (serverUrl: string): Promise<string> => {
    await this.#open()
    return discoverAndRegister(this.#setting, serverUrl)
  }

  readonly federationFetch = async (url: string, options?: FederationFetchOptions): Promise<FederationResponse> => {
    await this.#open()
    return federationFetch(this.#setting, url, options)
  }

  readonly markServerHealthy = async (url: string): Promise<void> => {
    await this.#open()
    return markServerHealthy(this.#setting, url)
  }

  readonly markServerUnhealthy = async (url: string, reason: UnhealthyReason): Promise<void> => {
    await this.#open()
    return markServerUnhealthy(this.#setting, url, reason)
  }

  readonly getThreatPolicy = (reason: UnhealthyReason): ThreatPolicy => getThreatPolicy(this.#parts.policies, reason)

  // ── cryptography ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** @param publicKey 32 bytes */
  readonly encryptPayload = (text: string, publicKey: Uint8Array): EncryptedEnvelope => encryptPayload(text, publicKey)

  /** With our own key. @throws FederationError DECRYPT_FAILED */
  readonly decryptPayload = (envelope: unknown): Promise<string> => decryptPayload(envelope, this.#parts.keyring)

  // ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  readonly #open = (): Promise<void> => {
    this.#opening ??= this.#parts.store.connect().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** A listener that throws harms nobody. */
  #emit<E extends keyof FederationEvents>(event: E, args: FederationEvents[E]): void {
    for (const listener of this.rawListeners(event)) {
      try {
        Reflect.apply(listener, this, args)
      } catch (error) {
        this.#parts.log?.error?.({ event, code: failureCode(error) }, `a listener of '${event}' failed`)
      }
    }
  }
}
