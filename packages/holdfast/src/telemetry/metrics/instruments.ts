// Every metric of Holdfast, in one table: Prometheus and OpenTelemetry show the same ones. Labels come from closed sets, or are types,
// which are bounded (type-labels.ts): never an id, a key, a group or a message.

export interface Instrument {
  /** Dotted, as OpenTelemetry writes it: `holdfast.jobs.added`. */
  readonly name: string
  readonly kind: 'counter' | 'histogram' | 'gauge'
  readonly help: string
  readonly labels: readonly string[]
  /** Seconds, or a count in braces. */
  readonly unit: string
}

const ofType = ['face', 'type'] as const

/** Counted by events of this process. */
export const counters = {
  added: counter('jobs.added', 'Jobs added by this process. Those of a transaction of the caller are not counted.', [
    ...ofType,
  ]),
  settled: counter(
    'jobs.settled',
    'Attempts and jobs that this process ended: completed, failing (will be retried), failed, released (no attempt spent), cancelled, expired, refused (another worker had the job).',
    [...ofType, 'outcome'],
  ),
  lostLeases: counter('leases.lost', 'Leases that ran out and were taken back by this process.', [...ofType]),
  slowDowns: counter('jobs.rate_limited', 'Attempts that answered rateLimited().', [...ofType, 'scope']),
  abandoned: counter('handlers.abandoned', 'Handlers that went on after their attempt timed out.', [...ofType]),
  loopStalls: counter('loop.stalls', 'Event loop blocked for more than a third of a lease.', []),
  skippedSlots: counter('schedule.slots_skipped', 'Slots of schedules that were passed over.', [...ofType]),
  storageCalls: counter('storage.calls', 'Calls to the storage.', ['driver', 'verb', 'ok']),
  connectionsLost: counter('storage.connections_lost', 'Times that the storage stopped answering.', ['driver']),
  errors: counter('errors', 'Errors that no call returned, by code.', ['code']),
} as const

/** Measured by events of this process, in seconds. */
export const histograms = {
  wait: histogram('job.wait', 'Time from due to started.', [...ofType]),
  run: histogram('job.run', 'Time that a handler ran.', [...ofType, 'outcome']),
  lateness: histogram('schedule.lateness', 'Time from the slot of a schedule to the add of its job.', [...ofType]),
  storageTime: histogram('storage.call', 'Time of a call to the storage, its retries included.', ['driver', 'verb']),
} as const

/** Read from the storage: every process shows the same figures. */
export const gauges = {
  up: gauge('storage.up', '1 if the counts of the storage could be read, else 0.', '1', []),
  jobs: gauge('jobs', 'Jobs in the storage.', '{job}', [...ofType, 'state']),
  due: gauge('jobs.due', 'Jobs that could run now. Limits and pauses are not considered.', '{job}', [...ofType]),
  delayed: gauge('jobs.delayed', 'Jobs that wait for their time.', '{job}', [...ofType]),
  oldestDue: gauge('jobs.oldest_due', 'Age of the oldest job that is due; 0 if none is.', 's', [...ofType]),
  paused: gauge('type.paused', '1 if the type is paused, else 0.', '1', [...ofType]),
  slowed: gauge('type.slowed', '1 if the type waits because a handler answered rateLimited(), else 0.', '1', [
    ...ofType,
  ]),
  workers: gauge('workers', 'Workers that are alive.', '{worker}', []),
  slots: gauge('slots', 'Handlers that all workers may run at a time.', '{slot}', []),
  slotsUsed: gauge('slots.used', 'Handlers that ran when the workers last wrote.', '{slot}', []),
  loopDelay: gauge('loop.delay', 'Largest delay of an event loop that a worker reported.', 's', []),
} as const

/** Upper bounds of the buckets of every histogram, in seconds. */
export const bucketBounds: readonly number[] = [
  0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200,
]

/** The name in the exposition format: `holdfast_jobs_added_total`, `holdfast_job_wait_seconds`. */
export function prometheusName({ name, kind, unit }: Instrument): string {
  const base = name.replaceAll('.', '_')
  return `${base}${unit === 's' ? '_seconds' : ''}${kind === 'counter' ? '_total' : ''}`
}

function counter(name: string, help: string, labels: readonly string[]): Instrument {
  return { name: `holdfast.${name}`, kind: 'counter', help, labels, unit: '1' }
}

function histogram(name: string, help: string, labels: readonly string[]): Instrument {
  return { name: `holdfast.${name}`, kind: 'histogram', help, labels, unit: 's' }
}

function gauge(name: string, help: string, unit: string, labels: readonly string[]): Instrument {
  return { name: `holdfast.${name}`, kind: 'gauge', help, labels, unit }
}
