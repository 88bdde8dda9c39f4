// Assembles the parts of a federation: its queues, and the context that all its functions take. The two profiles differ here.

import type { Clock, Logger, Storage } from 'holdfast'
import { Backlogs } from './backlogs.ts'
import type { SendingContext } from './context.ts'
import type { AckHandlers } from './deliver/dispatch-ack.ts'
import { failureCode } from './deliver/process.ts'
import type { HttpClient } from './http/client.ts'
import type { InboundHandlers } from './inbound/handlers.ts'
import { Limiter } from './inbound/limiter.ts'
import type { FederationDeliveryJob, HealthCheckJob } from './jobs.ts'
import type { Keyring } from './keyring.ts'
import { LoopTurns } from './loop-turns.ts'
import { FederationMetrics } from './metrics/federation-metrics.ts'
import { contactName, PeerContacts } from './peers/contacts.ts'
import { Drains } from './peers/drains.ts'
import { peerHolds } from './peers/holds.ts'
import { peerGroup, peerSlots } from './peers/slots.ts'
import type { Policies, Profile } from './policies.ts'
import {
  deliveryQueueConfig,
  federationQueue,
  type FederationQueue,
  healthCheckQueueConfig,
  notKept,
  scheduleHealthCheck,
} from './queues.ts'
import type { Store } from './store/store.ts'

/** Resolved options: create.ts and env.ts make them. */
export interface FederationParts {
  readonly profile: Profile
  readonly origin: string | undefined
  readonly allowHttp: boolean
  /** Storage of the producers. */
  readonly storage: Storage
  /** Storage of the workers: the same one, or another connection to the same jobs. */
  readonly workerStorage: Storage
  readonly store: Store
  readonly keyring: Keyring
  readonly http: HttpClient
  readonly policies: Policies
  readonly handlers: InboundHandlers
  readonly acks: AckHandlers
  readonly clock: Clock
  readonly logger: Logger | undefined
}

export interface FederationQueues {
  readonly deliveryQueue: FederationQueue<FederationDeliveryJob>
  readonly healthCheckQueue: FederationQueue<HealthCheckJob>
}

export function queuesOf({ storage, allowHttp, ...dependencies }: FederationParts): FederationQueues {
  return {
    deliveryQueue: federationQueue(
      deliveryQueueConfig(dependencies, storage),
      ({ deliveryJobId }) => deliveryJobId,
      ({ serverUrl }) => peerGroup(serverUrl, { allowHttp }),
    ),
    healthCheckQueue: federationQueue(healthCheckQueueConfig(dependencies, storage), () => dependencies.clock.newId()),
  }
}

export function contextOf(
  parts: FederationParts,
  queues: FederationQueues,
  emit: SendingContext['emit'],
): SendingContext {
  const { profile, origin, allowHttp, store, keyring, http, policies, clock, logger } = parts
  const { deliveryQueue, healthCheckQueue } = queues
  const metrics = new FederationMetrics()
  const context: SendingContext = {
    origin,
    allowHttp,
    store,
    keyring,
    http,
    policies,
    clock,
    logger,
    emit,
    metrics,
    turns: new LoopTurns(clock),
    backlogs: new Backlogs({ store, clock, policies, logger, metrics, emit }, deliveryQueue),
    slots: peerSlots(deliveryQueue.queue, policies, logger),
    ...(profile === 'hardened'
      ? contactsOf(parts, queues, () => context)
      : { scheduleHealthCheck: (url, attempt) => scheduleHealthCheck(parts, healthCheckQueue, url, attempt) }),
  }
  return context
}

/** The profile `hardened` contacts a peer again by a job of its own, and has no series of health checks. */
function contactsOf(
  { clock, logger, policies }: FederationParts,
  { deliveryQueue, healthCheckQueue }: FederationQueues,
  context: () => SendingContext,
): Pick<SendingContext, 'contacts' | 'drains' | 'heard' | 'scheduleHealthCheck'> {
  const dependencies = {
    holds: peerHolds(deliveryQueue.queue),
    scheduleContact: async (serverUrl: string, id: string, runAt: number) => {
      await healthCheckQueue.add(contactName, { serverUrl }, { id, runAt, retention: notKept })
    },
  }
  const contacts = new PeerContacts(dependencies, policies.delivery.concurrency)
  const recent = new Limiter(clock, 1, 10_000)
  const heard = (origin: string): void => {
    if (recent.take(origin) !== undefined) return
    contacts.heard(context(), origin).catch((error: unknown) => {
      logger?.warn?.(
        { origin, code: failureCode(error) },
        `federation: the contact with ${origin} could not be brought forward`,
      )
    })
  }
  return { contacts, drains: new Drains(clock), heard, scheduleHealthCheck: async () => {} }
}
