// The features of a job system, by number, and on which drivers each is built. `npm run features` compares it with the cases and
// tests that name the numbers, and writes docs/features.md.

export const drivers = ['memory', 'file', 'sqlite', 'postgres', 'redis'] as const
export type Driver = (typeof drivers)[number]

/** `built`: as the requirement says. `scan`, `process`: built, within the limit that docs/features.md explains. */
type Built = 'built' | 'scan' | 'process'
export type Status = Built | 'partly' | 'not'

/** Parts of the product. A finished part may have no row that is not built. */
export const parts = { operating: 'finished', flow: 'finished', insight: 'planned', safety: 'planned' } as const
type Part = keyof typeof parts

export interface Feature {
  readonly id: string
  readonly title: string
  readonly part: Part
  readonly status: Status
  /** Drivers on which it differs. */
  readonly except?: Partial<Record<Driver, Status>>
  /** Of a feature that is built in part: what is not. */
  readonly missing?: string
}

const row = (
  id: string,
  title: string,
  part: Part,
  status: Status = parts[part] === 'finished' ? 'built' : 'not',
  except?: Partial<Record<Driver, Status>>,
): Feature => ({ id, title, part, status, ...(except && { except }) })

const partly = (id: string, title: string, part: Part, missing: string): Feature => {
  return { id, title, part, status: 'partly', missing }
}

export const features: readonly Feature[] = [
  row('F1', 'Delay and run at an instant; reschedule, run now', 'operating'),
  row('F2', 'Priority', 'operating'),
  row('F3', 'Bulk add', 'operating'),
  row('F4', 'Replace or reject a duplicate', 'operating'),
  row('F5', 'Expiry of jobs that were not started', 'operating'),
  row('F6', 'Schedules: cron, intervals, time zones', 'flow'),
  row('F7', 'Schedules: one job per slot', 'flow'),
  row('F8', 'Schedules: deploys', 'flow'),
  row('F9', 'Schedules: after downtime', 'flow'),
  row('F10', 'Schedules: overlap and spread', 'flow'),
  row('F11', 'Backoff', 'operating'),
  row('F12', 'Decision per error', 'operating'),
  row('F13', 'Storage failures are no handler errors', 'operating'),
  row('F14', 'Crash loops end', 'operating'),
  row('F15', 'Blocked event loops are reported', 'operating'),
  row('F16', 'Timeout of an attempt', 'operating'),
  row('F17', 'Cancel from anywhere', 'operating'),
  row('F18', 'Snooze', 'operating'),
  row('F19', 'Sandbox', 'safety'),
  row('F20', 'Concurrency limits', 'flow'),
  row('F21', 'Groups', 'flow'),
  row('F22', 'Rate limits', 'flow'),
  row('F23', 'Slow-down on request', 'flow'),
  row('F24', 'Fair turns between groups, depth', 'flow'),
  row('F25', 'Deduplication modes', 'flow'),
  row('F26', 'Pause and resume', 'operating'),
  row('F27', 'Progress and log lines', 'operating'),
  row('F28', 'Dead letters and redrive', 'operating'),
  row('F29', 'Retention by age and count', 'operating'),
  row('F30', 'Search by fields', 'operating', 'built', { file: 'scan' }),
  row('F31', 'Bulk actions', 'operating'),
  row('F32', 'Explain', 'insight', 'built'),
  row('F33', 'Doctor', 'insight', 'built'),
  row('F34', 'Workers and health', 'operating'),
  partly('F35', 'Schemas of payloads', 'safety', 'a Queue takes no schema; chains and tasks do'),
  row('F36', 'Upgrade of payloads', 'safety'),
  row('F37', 'Encryption', 'safety'),
  row('F38', 'Events', 'operating', 'built', { memory: 'process', file: 'process', sqlite: 'process' }),
  row('F39', 'Traces', 'insight', 'built'),
  row('F40', 'Metrics', 'insight', 'built'),
  partly('F41', 'Test kit', 'insight', 'running a job inside of its `enqueue`, and a worker that crashes on request'),
  row('F42', 'Moving between storages', 'insight'),
  row('F43', 'Dashboard', 'insight', 'built'),
  partly('F44', 'Command line', 'insight', '`export`, `import` and `move`, which come with F42'),
]

export const statusOn = ({ status, except }: Feature, driver: Driver): Status => except?.[driver] ?? status

export const isBuilt = (status: Status): boolean => status !== 'partly' && status !== 'not'
