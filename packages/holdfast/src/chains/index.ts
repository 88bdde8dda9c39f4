// holdfast/chains: typed jobs that continue one another, wait for other chains, and commit with rows of your own.

import '../node-version.ts'
export { failJob, rescheduleJob } from './attempt/directives.ts'
export { createClient } from './client/client.ts'
export type { Log, LogEntry } from './events/log.ts'
export type { Notifier } from './events/notifier.ts'
export type { ChainEvent, Observer, ObserverEvent } from './events/observer.ts'
export {
  createJobTypeRegistry,
  type DefinitionsOf,
  defineJobTypes,
  type JobTypeChecks,
  type JobTypeRegistry,
} from './registry.ts'
export type {
  ChainFilter,
  Client,
  ClientOptions,
  JobFilter,
  ListOptions,
  WaitOptions,
  WorkerlessComplete,
} from './types/client.ts'
export type {
  AttemptResult,
  Complete,
  Completion,
  JobAttemptMiddleware,
  Prepare,
  Process,
  ProcessContext,
  TypedAbortSignal,
} from './types/handler.ts'
export type { ChainOutput, EntryName, InputOf, JobTypeDefinition, JobTypeName, OutputOf } from './types/job-types.ts'
export type {
  AnyRunningJob,
  BlockerChains,
  ChainFields,
  ChainRef,
  CompletedJobChain,
  JobChainOf,
  JobFields,
  JobOf,
  PageOf,
  ProcessingState,
  RunningJob,
  TraceContext,
} from './types/records.ts'
export type { SchemaDefinition, SchemaDefinitions } from './types/schema-definitions.ts'
export type {
  ChainDeduplication,
  Continuation,
  ContinueOptions,
  ContinueWith,
  Schedule,
  StartBlockers,
  StartedJobChain,
  StartItem,
  StartOptions,
  TxContext,
  TxOption,
} from './types/start-options.ts'
export type {
  AttemptOptions,
  InProcessWorker,
  InProcessWorkerOptions,
  JobTypeProcessing,
  JobTypeProcessor,
  JobTypeProcessors,
  LeaseConfig,
  RetryConfig,
  StopOptions,
} from './types/worker.ts'
export { createInProcessWorker } from './worker/worker.ts'
export { fail, snooze } from '../engine/job/directives.ts'
export type { StandardSchema } from '../engine/standard-schema.ts'
export type { JobAbortReason } from '../engine/work/attempt.ts'
export {
  JobChainFailedError,
  JobTypeValidationError,
  LeaseLostError,
  RescheduleJobError,
  WaitForJobChainCompletionTimeoutError,
} from '../errors.ts'
