// The options of createTasks, and the complete record that the code inside receives.

import { type Clock, systemClock } from '../clock.ts'
import type { Logger } from '../engine/emit.ts'
import type { Backoff } from '../engine/job/backoff.ts'
import type { TypeRetentionOptions } from '../engine/job/retention.ts'
import { invalidArgument } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { Storage } from '../storage/storage.ts'
import { type Duration, toMs } from './duration.ts'
import { checkDurations } from './foreign-durations.ts'
import type { KvStore, StoreKey } from './kv/kv-store.ts'
import { ownQueueOptions, prefixOptions, tasksOptions } from './options.ts'
import type { MessageQueue } from './queue/message-queue.ts'
import type { TaskQueues } from './queue/queues.ts'
import { refuseBoth, type Retry, type RetryPolicy } from './retry.ts'

/** Options of createTasks(). Give `storage`, or `queue`. */
export interface TasksOptions {
  /** Where tasks are sent. A bare queue means `{ task: queue }`. @default a StorageMessageQueue over `storage` */
  readonly queue?: MessageQueue | TaskQueues | undefined
  /** For deduplication over queues without `nativeDeduplication`. @default a StorageKvStore over `storage` */
  readonly kv?: KvStore | undefined
  /** Shorthand for a StorageMessageQueue and a StorageKvStore over it. */
  readonly storage?: Storage | undefined
  // The next six are of the queue over `storage`. Not together with `queue`, which has its own.
  /** Name of the queue: tasks of one name on one storage share their messages, and every worker of it should define them all. @default 'default' */
  readonly name?: string | undefined
  /** Tasks that run at a time, in this process. @default 10 */
  readonly concurrency?: number | undefined
  /** How long the task of a dead worker stays its own, in ms; renewed every third of it while the handler runs. @default 30_000 */
  readonly leaseMs?: number | undefined
  /** Longest idle wait without a hint, in ms. Infinity: hints alone. @default 1_000 */
  readonly pollMs?: number | undefined
  /** Snoozes of a task; one more fails it with MAX_SNOOZES. @default Infinity */
  readonly maxSnoozes?: number | undefined
  /** How long ended tasks are kept, and how many, by end state. @default completed 0, failed 14 days, cancelled 1 day; any number */
  readonly retention?: TypeRetentionOptions | undefined
  /** Where the deduplication keys are kept in `kv`. @default ['_holdfast', 'taskDeduplication'] */
  readonly kvPrefixes?: { readonly taskDeduplication?: StoreKey | undefined } | undefined
  /** `strict`: no task uses the fallback queue. @default 'fallback' */
  readonly taskQueueResolution?: 'fallback' | 'strict' | undefined
  /** Runs of a task in all, the first included. @default 10 */
  readonly maxAttempts?: number | undefined
  /** Pause before the next run of a task that failed. @default exponential: 1 s, doubled up to 12 h, half of it left to chance */
  readonly backoff?: Backoff | undefined
  /** Alias of maxAttempts and backoff, as one function. Not together with either. */
  readonly taskRetryPolicy?: RetryPolicy | undefined
  /** Longest run of a handler, in ms. Without it, a run may take any time: its lease is renewed while it lasts. */
  readonly timeoutMs?: number | undefined
  /** With `storage`: time between two writes of this worker's entry in workers(), in ms. False: no entry. @default 60_000 */
  readonly presenceMs?: number | false | undefined
  /**
   * While handlers are short, jobs are claimed ahead of a free slot, and held for this time at most, in ms. False: a job is claimed only
   * when a slot is free, and each outcome is stored before the slot takes its next job. @default 20
   */
  readonly prefetchMs?: number | false | undefined
  /**
   * Number of the deployed version, which grows with each. Only a greater one removes schedules that no task declares any longer, and a
   * lower one changes no schedules and no limits. @default 0
   */
  readonly release?: number | undefined
  /** How long a deduplication key is taken, from the due time. @default 1 h */
  readonly taskDeduplicationTtl?: Duration | undefined
  /** What to do with a key that neither queue nor kv can apply: `open` sends without it, `closed` refuses. @default 'open' */
  readonly taskDeduplicationFallback?: 'open' | 'closed' | undefined
  /** Receives start, stop, failures, stalls and lost connections, each at its level. @default NODE_DEBUG=holdfast */
  readonly logger?: Logger | undefined
  /** Source of local time: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock | undefined
}

/** Complete: nothing inside asks for a default. @throws TypeError INVALID_ARGUMENT */
export function resolveTasksOptions(options: TasksOptions) {
  refuseBoth('createTasks', options, 'taskRetryPolicy')
  const { maxAttempts, backoff, name, concurrency, leaseMs, pollMs, maxSnoozes, retention, ...rest } = resolveOptions(
    'createTasks',
    options,
    tasksOptions,
  )
  const ownQueue = { name, concurrency, leaseMs, pollMs, maxSnoozes, retention }
  if (rest.queue) refuseOwnQueue(ownQueue)
  const retry: Retry = { maxAttempts, backoff }
  if (rest.kv) checkDurations('kv', rest.kv, 'fedifyKv')
  return {
    ...rest,
    retry,
    ownQueue,
    clock: rest.clock ?? systemClock,
    prefix: resolveOptions('kvPrefixes', rest.kvPrefixes, prefixOptions).taskDeduplication,
    deduplicationTtlMs: toMs(rest.taskDeduplicationTtl),
  }
}

/** @throws TypeError INVALID_ARGUMENT if one of them is given: without effect, it would mislead */
function refuseOwnQueue(options: { readonly [Option in keyof typeof ownQueueOptions]?: unknown }): void {
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined) continue
    throw invalidArgument(`createTasks options`, `${option} as an option of the queue, which is given`, value)
  }
}
