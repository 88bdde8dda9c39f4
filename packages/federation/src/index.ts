// @holdfast/federation: server-to-server deliveries, encrypted, signed and acknowledged.

export { UnrecoverableError } from 'holdfast'
export { createFederation, type FederationOptions } from './create.ts'
export type { DeadLetterFilter, DeadLetters } from './dead-letters.ts'
export type { AckContext, AckHandler, AckHandlers } from './deliver/dispatch-ack.ts'
export {
  discoverAndRegister,
  federationFetch,
  getFederation,
  getFederationQueue,
  getHealthCheckQueue,
  getRedisConnection,
  getRedisWorkerConnection,
  getThreatPolicy,
  handleFollowAck,
  markServerHealthy,
  markServerUnhealthy,
  processFederationDelivery,
  processHealthCheck,
  resetFederationForTests,
  scheduleHealthCheck,
  startFederationWorker,
} from './env.ts'
export { FederationError, type FederationErrorCode, federationErrorCodes } from './errors.ts'
export type { Federation } from './federation.ts'
export type { FollowDecision } from './decide-follow.ts'
export type { FollowResult, FollowRequest } from './follow.ts'
export type { Address, Connector, HttpOptions, Resolver } from './http/client.ts'
export type { FederationHandler, RequestSource } from './inbound/handler.ts'
export type {
  Apply,
  ApplyAnswer,
  InboundAnswer,
  InboundHandler,
  InboundHandlers,
  InboundMessage,
} from './inbound/handlers.ts'
export { nodeListener } from './inbound/node-listener.ts'
export {
  DELIVERY_QUEUE_NAME,
  type FederationDeliveryJob,
  HEALTH_CHECK_QUEUE_NAME,
  type HealthCheckJob,
  MAX_HEALTH_CHECK_ATTEMPTS,
  type ProcessorJob,
} from './jobs.ts'
export {
  generateKeyring,
  generateKeyText,
  type Keyring,
  keyringFromBase64,
  type KeyringText,
  type KeyUse,
  type PublicKey,
} from './keyring.ts'
export type { RunOptions, StopOptions } from './life-cycle.ts'
export { canonicalOrigin, type OriginOptions } from './origin.ts'
export { DiscoveryError, type DiscoveryErrorCode } from './peers/discovery-error.ts'
export type { FederationFetchOptions, FederationResponse } from './peers/federation-fetch.ts'
export type { PeerExplanation, Peers } from './peers/operator.ts'
export type { Activity, SendOptions, SendResult } from './outbox.ts'
export type { PeerState } from './peers/peer-state.ts'
export type { ThreatPolicy, UnhealthyReason } from './peers/threats.ts'
export type { Policies, Profile } from './policies.ts'
export type { AddOptions, FederationQueue, QueuedJob, StoredJob } from './queues.ts'
export type { RedisConnection } from './redis-connections.ts'
export type { PolicyOptions } from './resolve-policies.ts'
export type { FederationEvents } from './context.ts'
export { postgresStore, type PostgresStoreOptions } from './store/postgres/postgres-store.ts'
export { sqliteStore, type SqliteStoreOptions } from './store/sqlite/sqlite-store.ts'
export type * from './store/store.ts'
export { type FollowEnvelope, FollowEnvelopeSchema } from './wire/v1/acks.ts'
export { decryptPayload, encryptPayload } from './wire/v1/envelope.ts'
export type { AckPayload, EncryptedEnvelope } from './wire/v1/messages.ts'
export type { FailedAttempt, FederationWorker, FederationWorkerEvents } from './worker.ts'
export type { FederationWorkers } from './workers.ts'
