// "Did you mean …?" for an unknown option or command: the word of another library for one of ours, else a name with similar spelling.
// What is no option here, but is said elsewhere, has a note.

/** Names of other libraries, each with our words for it, the likeliest first. */
const foreignWords: Readonly<Record<string, readonly string[]>> = {
  attempts: ['maxAttempts'],
  retries: ['maxAttempts'],
  retry: ['maxAttempts'],
  maxStalledCount: ['maxAttempts'],
  retryLimit: ['maxAttempts'],
  retryDelay: ['backoff'],
  retryBackoff: ['backoff'],
  retryDelayMax: ['backoff'],
  connectionString: ['url'],
  connection: ['client', 'storage'],
  uri: ['url'],
  file: ['path', 'directory'],
  filename: ['path'],
  database: ['path', 'url'],
  path: ['directory'],
  folder: ['directory'],
  dir: ['directory'],
  delay: ['delayMs'],
  startAfter: ['runAt', 'delayMs'],
  runAfter: ['runAt', 'delayMs'],
  repeat: ['schedules', 'cron'],
  every: ['everyMs'],
  pattern: ['cron'],
  tz: ['timeZone'],
  timezone: ['timeZone'],
  jobId: ['id'],
  queue: ['name'],
  queueName: ['name', 'group'],
  jobKey: ['deduplication', 'deduplicationKey'],
  singletonKey: ['deduplication', 'deduplicationKey'],
  singletonSeconds: ['deduplication'],
  debounce: ['deduplication'],
  throttle: ['deduplication'],
  deduplicationId: ['deduplication', 'deduplicationKey'],
  keyPrefix: ['prefix'],
  lockDuration: ['leaseMs'],
  stalledInterval: ['leaseMs'],
  heartbeatSeconds: ['leaseMs'],
  pollInterval: ['pollMs'],
  pollingIntervalSeconds: ['pollMs'],
  removeOnComplete: ['retention'],
  removeOnFail: ['retention'],
  retentionSeconds: ['retention'],
  deleteAfterSeconds: ['retention'],
  ttl: ['retention'],
  timeout: ['timeoutMs', 'graceMs'],
  expireInSeconds: ['timeoutMs'],
  teamSize: ['concurrency'],
  teamConcurrency: ['concurrency'],
  localConcurrency: ['concurrency'],
  concurrency: ['limit'],
  globalConcurrency: ['limits', 'concurrency'],
  groupConcurrency: ['group', 'limit'],
  limiter: ['limits', 'rate'],
  rateLimit: ['limits', 'rate'],
  max: ['limit'],
  duration: ['perMs'],
  period: ['perMs'],
  windowMs: ['perMs'],
  cost: ['weight'],
  // Commands of other tools.
  add: ['enqueue'],
  delete: ['remove'],
  list: ['jobs'],
  ls: ['jobs'],
  queues: ['status'],
  show: ['job'],
  start: ['work'],
  stats: ['status'],
  types: ['status'],
  worker: ['work'],
}

const inQueue = 'repeated jobs are the `schedules` of new Queue()'
const firstArgument = 'the id is the first argument'

/** What other libraries say by an option, and Holdfast otherwise: by the call, and the option. */
const notes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Queue: { defaultJobOptions: 'the options of jobs are options of the queue, such as maxAttempts' },
  enqueue: {
    id: firstArgument,
    jobId: firstArgument,
    repeat: inQueue,
    cron: inQueue,
    every: inQueue,
    everyMs: inQueue,
  },
  enqueueAndWait: {
    id: firstArgument,
    jobId: firstArgument,
    tx: 'workers see a job after the commit: add it with enqueue(), and wait after the commit',
  },
}

/** Returns what to do instead of giving the option, or undefined. @param where as in resolveOptions, such as 'enqueue' */
export function noteOn(where: string, key: string): string | undefined {
  const own = Object.hasOwn(notes, where) ? notes[where]! : {}
  return Object.hasOwn(own, key) ? own[key] : undefined
}

/** Returns the known option that the user probably meant, if one is similar. */
export function suggestion(key: string, known: readonly string[]): string | undefined {
  const foreign = Object.hasOwn(foreignWords, key) ? foreignWords[key] : undefined
  const word = foreign?.find((name) => known.includes(name))
  if (word !== undefined) return word
  const [nearest] = known.toSorted((a, b) => distance(key, a) - distance(key, b))
  // A name that differs in more than a third of its letters is another word. A wrong hint is worse than none.
  return nearest !== undefined && distance(key, nearest) <= Math.max(2, Math.floor(key.length / 3))
    ? nearest
    : undefined
}

/** Edit distance of two short words, ignoring case. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= Math.min(a.length, 64); i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1]!.toLowerCase() === b[j - 1]!.toLowerCase()
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (same ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}
