// What the Queue promises, row by row: Q4 its semantics, Q5 bad input, Q6 events, Q7 errors, and the traps that other queues
// fell into. Each has a test with its number in its name, in brackets; `npm run requirements` shows which.

export interface Requirement {
  readonly id: string
  readonly title: string
  /** The part of it that no test shows, and why; the rest is shown. */
  readonly notShown?: string
}

export const requirements: readonly Requirement[] = [
  { id: 'Q4.01', title: 'enqueue, id unknown' },
  { id: 'Q4.02', title: 'enqueue, id scheduled / queued / blocked / processing / failing' },
  { id: 'Q4.03', title: 'enqueue, id completed and its result alive' },
  { id: 'Q4.04', title: 'enqueue, id completed, TTL over (to the ms, swept or not)' },
  { id: 'Q4.05', title: 'enqueue, id failed or cancelled' },
  {
    id: 'Q4.06',
    title: 'same id twice in one tick, or N concurrent callers anywhere',
  },
  {
    id: 'Q4.07',
    title: 'same id under two names, prefixes, schemas or directories',
  },
  { id: 'Q4.08', title: 'enqueue whose reply was lost and which Holdfast retries itself' },
  {
    id: 'Q4.09',
    title: 'enqueue acknowledged',
    notShown: 'redis, postgres: a power cut; that what they answered is on the disk then is their own promise',
  },
  { id: 'Q4.10', title: 'enqueueAndWait, id waiting or running' },
  { id: 'Q4.11', title: 'enqueueAndWait, id completed' },
  { id: 'Q4.12', title: 'enqueueAndWait, id failed or cancelled' },
  { id: 'Q4.13', title: 'enqueueAndWait, job fails finally / is cancelled' },
  { id: 'Q4.14', title: 'enqueueAndWait, job removed, replaced or expired before its outcome was read' },
  { id: 'Q4.15', title: 'enqueueAndWait, timeout' },
  { id: 'Q4.16', title: 'enqueueAndWait, `timeout: 0` / `Infinity` / `signal` aborted' },
  { id: 'Q4.17', title: 'many waiters of one id' },
  { id: 'Q4.18', title: 'cancel scheduled / queued / blocked / failing' },
  { id: 'Q4.19', title: 'cancel processing' },
  {
    id: 'Q4.20',
    title: 'cancel processing, `{ abort: true }`',
  },
  { id: 'Q4.21', title: '… and then' },
  { id: 'Q4.22', title: 'cancel completed / failed / cancelled / unknown or expired' },
  { id: 'Q4.23', title: 'cancel racing a claim' },
  { id: 'Q4.24', title: 'cancel, then enqueue of the same id' },
  { id: 'Q4.25', title: 'getResult, getStatus' },
  { id: 'Q4.26', title: 'updateResultTTL' },
  { id: 'Q4.27', title: 'TTL and attempts of a job' },
  { id: 'Q4.28', title: 'order' },
  { id: 'Q4.29', title: 'handler resolves / calls back without error' },
  { id: 'Q4.30', title: 'handler throws, rejects or calls back with an error (any value)' },
  { id: 'Q4.31', title: 'callback called twice; callback and throw; `async (job, cb)` that rejects' },
  { id: 'Q4.32', title: 'payload cannot be decoded by the worker' },
  { id: 'Q4.33', title: 'result not serialisable or too large' },
  { id: 'Q4.34', title: 'custom backoff throws or returns no finite number >= 0' },
  { id: 'Q4.35', title: 'storage fails while recording an outcome' },
  { id: 'Q4.36', title: 'storage fails while claiming' },
  { id: 'Q4.37', title: 'attempt reaches visibilityTimeout' },
  { id: 'Q4.38', title: 'worker dies' },
  { id: 'Q4.39', title: 'lease lost in a live worker (blocked event loop, Reaper)' },
  { id: 'Q4.40', title: 'stalled attempt (cap, lost lease, Reaper)' },
  { id: 'Q4.41', title: 'released attempt (stop)' },
  { id: 'Q4.42', title: 'Reaper' },
  { id: 'Q4.43', title: 'several Reapers, with or without election' },
  { id: 'Q4.44', title: 'leader dies' },
  { id: 'Q4.45', title: 'no `error` listener; a listener throws or rejects' },
  { id: 'Q4.46', title: '`execute` a second time' },
  {
    id: 'Q5.01',
    title:
      "id not a string, `''`, over 512 bytes of UTF-8 (so also 10 000 characters), with U+0000 (SQL text cannot hold it) or a lone surrogate",
  },
  {
    id: 'Q5.02',
    title:
      "ids `'../../x'`, `'/'`, `'a\\\\b'`, `'.'`, newline, tab, `'__proto__'`, `'constructor'`, `'user:42'`, `'a:exp'`, `'x.job'`, `'CON'`, `'{a}'`, `'%2e'`, `'*'`, `\"'; --\"`, emoji, 512 bytes long",
  },
  { id: 'Q5.03', title: "`'A'` and `'a'`; the same letter composed and decomposed" },
  { id: 'Q5.04', title: '`name`, `workerId`' },
  {
    id: 'Q5.05',
    title:
      'payload not serialisable (cycle, BigInt, function or symbol as JSON root, serde throws or returns no Uint8Array)',
  },
  { id: 'Q5.06', title: 'payload over maxPayloadBytes' },
  { id: 'Q5.07', title: "resultTTL / ttlMs 0, −1, 1.5, NaN, Infinity, `'5'`, over 100 years" },
  { id: 'Q5.08', title: 'maxAttempts / maxRetries not an integer >= 1; concurrency not an integer 1 … 10 000' },
  {
    id: 'Q5.09',
    title:
      'visibilityTimeout not an integer >= 1; leaseMs < 50; blockTimeout not finite or <= 0; processingQueueTTL < 1000',
  },
  {
    id: 'Q5.10',
    title:
      'timeout negative, NaN, not an integer (`Infinity`: wait only); delayMs < 0, or together with runAt; invalid Date',
  },
  { id: 'Q5.11', title: 'unknown option key, in any options object' },
  {
    id: 'Q5.12',
    title:
      'storage missing or not a Storage; serde without both methods; handler, hook or backoff of the wrong kind; jitter outside 0 … 1, factor < 1; renewalInterval >= lockTTL',
  },
  {
    id: 'Q5.13',
    title:
      'RedisStorage: more than one of client, url, host/port; prefix empty, over 128 bytes or with braces; a client with its own key prefix',
  },
  {
    id: 'Q5.14',
    title: 'FileStorage: directory empty → TypeError; not a directory, not writable',
  },
  {
    id: 'Q5.15',
    title: 'PostgresStorage: neither or both of url and client; schema empty or over 63 bytes',
  },
  { id: 'Q5.16', title: 'database client not installed' },
  { id: 'Q6.01', title: 'started, stopped' },
  { id: 'Q6.02', title: 'error' },
  { id: 'Q6.03', title: 'enqueued' },
  { id: 'Q6.04', title: 'completed' },
  { id: 'Q6.05', title: 'failing' },
  { id: 'Q6.06', title: 'failed' },
  { id: 'Q6.07', title: 'stalled' },
  { id: 'Q6.08', title: 'fenced' },
  { id: 'Q6.09', title: 'requeued' },
  { id: 'Q6.10', title: 'cancelled' },
  { id: 'Q6.11', title: 'events() stream' },
  { id: 'Q7.01', title: 'TimeoutError TIMEOUT' },
  { id: 'Q7.02', title: 'JobFailedError JOB_FAILED' },
  { id: 'Q7.03', title: 'JobCancelledError JOB_CANCELLED' },
  { id: 'Q7.04', title: 'JobNotFoundError JOB_NOT_FOUND' },
  { id: 'Q7.05', title: 'MaxRetriesError MAX_RETRIES' },
  { id: 'Q7.06', title: 'StorageError STORAGE_ERROR' },
  { id: 'Q7.07', title: 'SerializationError SERIALIZATION_ERROR' },
  {
    id: 'Q7.08',
    title: "AttemptAbortedError, `name` 'AbortError' ATTEMPT_TIMEOUT, LEASE_LOST, STOPPING, JOB_CANCELLED",
  },
  { id: 'Q7.09', title: 'HoldfastError STALLED, TOO_LARGE, QUEUE_STOPPED, HANDLER_ALREADY_SET, MISSING_DEPENDENCY' },
  { id: 'Q7.10', title: 'TypeError INVALID_ARGUMENT' },
  { id: 'Q7.11', title: 'what is stored of an error' },
  { id: 'trap 1', title: 'void, null and empty results complete' },
  { id: 'trap 2', title: 'stop beyond its deadline loses nothing' },
  { id: 'trap 3', title: 'anything may be thrown' },
  { id: 'trap 4', title: 'decoding failure hurts only its caller' },
  { id: 'trap 5', title: 'no unhandled rejection' },
  { id: 'trap 6', title: 'stale workers are fenced' },
  {
    id: 'trap 7',
    title: 'a poison pill ends',
  },
  { id: 'trap 8', title: 'storage errors are not handler errors' },
  {
    id: 'trap 9',
    title: 'no window between taking and marking',
  },
  { id: 'trap 10', title: 'cancel + enqueue runs the new payload only' },
  { id: 'trap 11', title: 'cancel is atomic' },
  {
    id: 'trap 12',
    title: 'a cancelled failing job is not revived; waiters learn of cancel',
  },
  { id: 'trap 13', title: 'shared storage' },
  { id: 'trap 14', title: 'nothing is a joined string' },
  { id: 'trap 15', title: 'status is true' },
  { id: 'trap 16', title: 'readable errors' },
  { id: 'trap 17', title: '`stalled` is emitted' },
  {
    id: 'trap 18',
    title: 'no silent second handler; options checked',
  },
  { id: 'trap 19', title: 'serde sees the payload only' },
  { id: 'trap 20', title: 'long healthy jobs run once' },
  { id: 'trap 21', title: 'backoff, no starvation' },
  { id: 'trap 22', title: 'use before start' },
  {
    id: 'trap 23',
    title: 'stop is prompt and bounded',
  },
  { id: 'trap 24', title: 'undecodable payload' },
  {
    id: 'trap 25',
    title: 'producers see events (`fleetEvents`)',
  },
  { id: 'trap 26', title: 'TTL is per job' },
  { id: 'trap 27', title: 'binary safe' },
  {
    id: 'trap 28',
    title: 'recovery needs no registry and no witness',
  },
  {
    id: 'trap 29',
    title: 'lost hints cost time only; hints reach all readers',
  },
  { id: 'trap 30', title: 'a stopped waiter takes no job' },
  { id: 'trap 31', title: 'expiry is decided inside the move, on one clock' },
  {
    id: 'trap 32',
    title: 'NOSCRIPT, restart, failover (redis); no half state',
  },
  { id: 'trap 33', title: 'waiters are independent' },
  { id: 'trap 34', title: 'take-back races settle' },
  { id: 'trap 35', title: 'names do not block each other' },
  {
    id: 'trap 36',
    title: 'a retry leaves no copy',
  },
  { id: 'trap 37', title: 'concurrent start/stop' },
  { id: 'trap 38', title: 'nothing grows' },
  {
    id: 'trap 39',
    title: 'cost',
  },
  {
    id: 'trap 40',
    title: 'deduplication under concurrency, processes and threads',
  },
  { id: 'trap 41', title: 'no poisoned ids' },
  { id: 'trap 42', title: 'an expiring wait drops no job' },
  {
    id: 'trap 43',
    title: 'recovery across processes and restarts',
  },
  {
    id: 'trap 44',
    title: 'ids cannot leave their place',
  },
  {
    id: 'trap 45',
    title: 'one leader',
  },
  {
    id: 'trap 46',
    title: 'sequence is shared; I/O errors are not "not found" (file, sqlite)',
  },
  { id: 'trap 47', title: 'same name, same data' },
  {
    id: 'trap 48',
    title: 'no pool deadlock; names are quoted and fit (postgres)',
  },
  {
    id: 'trap 49',
    title: 'late replies',
  },
  { id: 'trap 50', title: 'long timers' },
  { id: 'trap 51', title: 'docs are true' },
]
