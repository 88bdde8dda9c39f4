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
  EndedJob,
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
  PrepareOptions,
  Process,
  ProcessContext,
  TypedAbortSignal,
} from './types/handler.ts'
export type {
  ChainOutput,
  Definitions,
  EntryName,
  InputOf,
  JobTypeDefinition,
  JobTypeName,
  OutputOf,
  Reference,
} from './types/job-types.ts'
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
export type { SchemaDefinition, SchemaDefinitions, SchemaReference } from './types/schema-definitions.ts'
export type {
  ChainDeduplication,
  Continuation,
  ContinueOptions,
  ContinueWith,
  JobToBlock,
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
export { fail, snooze, type SnoozeOptions } from '../engine/job/directives.ts'
export type { StandardSchema } from '../engine/standard-schema.ts'
export type { JobAbortReason } from '../engine/work/attempt.ts'
