// holdfast: the queue, its errors and events, the storage contract, and the memory driver.

export { createClient } from './chains/client.ts'
export { failJob, rescheduleJob } from './chains/give-up.ts'
export {
  createJobTypeRegistry,
  type DefinitionsOf,
  defineJobTypes,
  type JobTypeChecks,
  type JobTypeRegistry,
} from './chains/registry.ts'
export type { SchemaDefinition, SchemaDefinitions, SchemaReference } from './chains/schema-definitions.ts'
export type { StandardSchema } from './standard-schema.ts'
export type {
  AnyRunningJob,
  AttemptResult,
  BlockerChains,
  BlockerOptions,
  ChainDeduplication,
  ChainEvent,
  ChainFields,
  ChainFilter,
  ChainOutput,
  ChainRef,
  ChainRetention,
  Client,
  ClientOptions,
  Complete,
  CompletedJobChain,
  Completion,
  Continuation,
  ContinueOptions,
  ContinueWith,
  Definitions,
  EndedJob,
  EntryName,
  InProcessWorker,
  InProcessWorkerOptions,
  InputOf,
  JobAbortReason,
  JobAttemptMiddleware,
  JobChainOf,
  JobFields,
  JobFilter,
  JobOf,
  JobStateFields,
  JobToBlock,
  JobTypeDefinition,
  JobTypeName,
  JobTypeProcessing,
  JobTypeProcessor,
  JobTypeProcessors,
  LeaseConfig,
  ListOptions,
  Log,
  LogEntry,
  Notifier,
  Observer,
  ObserverEvent,
  OnBlockerFailure,
  OutputOf,
  PageOf,
  Prepare,
  PrepareOptions,
  Process,
  ProcessContext,
  ProcessingState,
  Reference,
  RetryConfig,
  RunningJob,
  Schedule,
  StartBlockerChain,
  StartBlockers,
  StartedJobChain,
  StartItem,
  StartOptions,
  StopOptions,
  TraceContext,
  TxContext,
  TxOption,
  TypedAbortSignal,
  WaitOptions,
  WorkerlessComplete,
} from './chains/types.ts'
export { createInProcessWorker } from './chains/worker.ts'
export { type Clock, generateId, systemClock, type Timer } from './clock.ts'
export type { Logger } from './emit.ts'
export {
  AttemptAbortedError,
  type ErrorCode,
  errorCodes,
  type ErrorDetails,
  HoldfastError,
  isHoldfastError,
  JobCancelledError,
  JobChainFailedError,
  JobFailedError,
  JobNotFoundError,
  JobTypeValidationError,
  LeaseLostError,
  MaxRetriesError,
  RescheduleJobError,
  SerializationError,
  StorageError,
  TimeoutError,
  UnrecoverableError,
  WaitForJobChainCompletionTimeoutError,
} from './errors.ts'
export type { EventStream, QueueEvent } from './event-stream.ts'
export type { EngineEvent } from './events.ts'
export { type Backoff, delayAfter } from './job/backoff.ts'
export { contentId } from './job/content-id.ts'
export type { EnqueueAndWaitOptions, EnqueueOptions, EnqueueResult, JobOptions } from './job/enqueue.ts'
export type { QueueRetention } from './job/retention.ts'
export { createJsonSerde, JsonSerde, type Serde } from './job/serde.ts'
export type { MessageState, MessageStatus } from './job/status.ts'
export { type CancelResult, Queue, type UpdateResultTTLResult } from './queue.ts'
export type { QueueConfig } from './queue-config.ts'
export type { QueueEvents } from './queue-events.ts'
export { checkListQuery, checkNewJobs, checkOutcomes } from './storage/check.ts'
export { MemoryStorage, type MemoryStorageOptions } from './storage/memory/memory-storage.ts'
export type { KeyValue, KvEntry, KvKey, KvPage, KvWrite } from './storage/kv.ts'
export { decodeKvKey, encodeKvKey } from './storage/kv.ts'
export type * from './storage/storage.ts'
export { type LeaderElection, Reaper, type ReaperConfig, type ReaperEvents } from './upkeep/reaper.ts'
export type { AfterExecutionContext } from './work/after-execution.ts'
export type { Job, JobHandler } from './work/execute.ts'
