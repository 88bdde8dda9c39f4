// holdfast: the Queue and the Reaper, their errors and events, and the memory driver.

import './node-version.ts'

export { type Clock, generateId } from './clock.ts'
export type { Logger } from './engine/emit.ts'
export {
  AttemptAbortedError,
  type ErrorCode,
  errorCodes,
  type ErrorDetails,
  HoldfastError,
  isHoldfastError,
  JobCancelledError,
  JobFailedError,
  JobNotFoundError,
  MaxRetriesError,
  SerializationError,
  StorageError,
  TimeoutError,
  UnrecoverableError,
} from './errors.ts'
export type { EventStream, QueueEvent } from './queue/event-stream.ts'
export { type Backoff, delayAfter } from './engine/job/backoff.ts'
export { contentId } from './queue/content-id.ts'
export type { EnqueueAndWaitOptions, EnqueueOptions, EnqueueResult, JobOptions } from './queue/enqueue.ts'
export type { RetentionOptions } from './engine/job/retention.ts'
export { createJsonSerde, JsonSerde, type Serde } from './engine/job/serde.ts'
export type { MessageState, MessageStatus, UpdateResultTTLResult } from './queue/status.ts'
export { Queue } from './queue/queue.ts'
export type { CancelOptions, CancelResult } from './queue/cancel.ts'
export type { QueueConfig, QueueStopOptions } from './queue/queue-config.ts'
export type { QueueEvents } from './queue/queue-events.ts'
export { MemoryStorage, type MemoryStorageOptions } from './storage/memory/memory-storage.ts'
export { type LeaderElection, Reaper, type ReaperConfig, type ReaperEvents } from './queue/reaper.ts'
export type { AfterExecutionContext } from './queue/after-execution.ts'
export type { Job, JobHandler } from './queue/handler.ts'
export { fail, snooze, type SnoozeOptions } from './engine/job/directives.ts'
export type { RunOptions } from './engine/lifecycle.ts'
// For packages that build on a Queue and have a connection of their own.
export { retryUntilReady } from './engine/retry-until-ready.ts'
export type { Storage } from './storage/storage.ts'
