// The options of a StorageMessageQueue, and the complete record that the code inside receives.

import { type Clock, systemClock } from '../../clock.ts'
import type { Logger } from '../../engine/emit.ts'
import type { Backoff } from '../../engine/job/backoff.ts'
import { keptCounts, retainedBy, type TypeRetentionOptions } from '../../engine/job/retention.ts'
import { type LimitsOptions, resolveLimits } from '../../engine/limits/limits-options.ts'
import type { Serde } from '../../engine/job/serde.ts'
import { ValueSerde } from '../../engine/job/values.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { storedType } from '../../storage/stored-type.ts'
import { type Duration, toMs } from '../duration.ts'
import { messageRetention, storageQueueOptions } from '../options.ts'
import { refuseBoth, type Retry, type RetryPolicy } from '../retry.ts'

/** Options of a StorageMessageQueue. */
export interface StorageMessageQueueOptions {
  /** Queues of one name on one storage share their messages. @default 'default' */
  readonly name?: string | undefined
  /** The face that the messages are stored under: for packages that build on this queue. Other faces never see them. @default 'task' */
  readonly face?: string | undefined
  /** Messages that run at a time, per listen(). @default 10 */
  readonly concurrency?: number | undefined
  /** How long the message of a dead worker stays its own, in ms; renewed every third of it while the handler runs. @default 30_000 */
  readonly leaseMs?: number | undefined
  /** Longest run of one attempt, in ms. Without it, a run may take any time: its lease is renewed while it lasts. */
  readonly timeoutMs?: number | undefined
  /** Longest idle wait without a hint, in ms. Infinity: hints alone. @default 1_000 */
  readonly pollMs?: number | undefined
  /** Alias of pollMs, as a duration. */
  readonly pollInterval?: Duration | undefined
  /** Time between two writes of each worker's entry in workers(), in ms. False: no entry, and no call while idle. @default 60_000 */
  readonly presenceMs?: number | false | undefined
  /**
   * While handlers are short, jobs are claimed ahead of a free slot, and held for this time at most, in ms. False: a job is claimed only
   * when a slot is free, and each outcome is stored before the slot takes its next job. @default 20
   */
  readonly prefetchMs?: number | false | undefined
  /** How long handlers may go on after an abort, in ms; then their messages are released. @default 30_000 */
  readonly graceMs?: number | undefined
  /** Alias of graceMs, as a duration. */
  readonly grace?: Duration | undefined
  /** Whether callers should leave retries to this queue. A handler that throws is retried in either case. @default true */
  readonly nativeRetrial?: boolean | undefined
  /** Runs in all, the first included. @default 10 */
  readonly maxAttempts?: number | undefined
  /** Pause before the next run of a message that failed. @default exponential: 1 s, doubled up to 12 h, half of it left to chance */
  readonly backoff?: Backoff | undefined
  /** Alias of maxAttempts and backoff, as one function. Not together with either. */
  readonly retryPolicy?: RetryPolicy | undefined
  /** Most snoozes of a message. One more fails it with code MAX_SNOOZES. @default Infinity */
  readonly maxSnoozes?: number | undefined
  /** How long ended messages are kept, and how many, by end state. @default completed 0, failed 14 days, cancelled 1 day; any number */
  readonly retention?: TypeRetentionOptions | undefined
  /**
   * Limits of the queue and of its groups, over all processes: `concurrency`, `rate`, `maxWaiting`, `group`. Stored when it is listened on,
   * so that all processes agree; an operator may set others with createAdmin(). `{}` declares that there are none. @default none
   */
  readonly limits?: LimitsOptions | undefined
  /** Number of the deployed version, which grows with each. A lower one does not change the stored limits. @default 0 */
  readonly release?: number | undefined
  /** How long a deduplication key is taken, from the due time. @default 1 h */
  readonly deduplicationTtl?: Duration | undefined
  /** Turns messages into bytes and back. @default plain JSON, with Date, Map, Set, bigint, bytes and URL kept */
  readonly messageSerde?: Serde<unknown> | undefined
  /** Largest message in bytes, after serialisation. @default 16_777_216 */
  readonly maxMessageBytes?: number | undefined
  /**
   * Returns the identity of a message. When a handler enqueues a message with the identity and the ordering key of the message
   * that it handles, the new one replaces it: it keeps its place in the order, and no attempt is spent. @default none
   */
  readonly replaces?: ((message: unknown) => string | undefined) | undefined
  /** Receives start, stop, failures, stalls and lost connections, each at its level. @default NODE_DEBUG=holdfast */
  readonly logger?: Logger | undefined
  /** Source of local time: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock | undefined
}

/** Complete: nothing inside asks for a default. @throws TypeError INVALID_ARGUMENT */
export function resolveStorageQueueOptions(options: StorageMessageQueueOptions | undefined) {
  refuseBoth('StorageMessageQueue', options, 'retryPolicy')
  const resolved = resolveOptions('StorageMessageQueue', options, storageQueueOptions)
  const { maxAttempts, backoff, ...rest } = resolved
  const retry: Retry = { maxAttempts, backoff }
  const type = storedType(rest.face, rest.name)
  return {
    ...rest,
    retry,
    type,
    keep: keptCounts(type, rest.retention),
    limits: rest.limits && resolveLimits(rest.limits),
    clock: rest.clock ?? systemClock,
    messageSerde: rest.messageSerde ?? new ValueSerde<unknown>(),
    retention: retainedBy(rest.retention, messageRetention),
    deduplicationTtlMs: toMs(rest.deduplicationTtl),
  }
}
