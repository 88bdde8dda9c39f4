// Every table of options that a user can pass, by face: the rows come from the code, the sentences from the TSDoc of its type.

import { adminOptions } from '../../packages/holdfast/src/admin/options.ts'
import { configOptions } from '../../packages/holdfast/src/cli/config.ts'
import { cancelOptions, operatorCancelOptions } from '../../packages/holdfast/src/engine/operate/cancel.ts'
import { deduplicationOptions } from '../../packages/holdfast/src/engine/job/deduplication.ts'
import { rateLimitedOptions } from '../../packages/holdfast/src/engine/job/directives.ts'
import { readLimitsOptions } from '../../packages/holdfast/src/engine/limits/limits-calls.ts'
import {
  groupLimitsOptions,
  limitsOptions,
  rateOptions,
  setLimitsOptions,
} from '../../packages/holdfast/src/engine/limits/limits-options.ts'
import { groupOptions } from '../../packages/holdfast/src/engine/options.ts'
import { rescheduleOptions } from '../../packages/holdfast/src/engine/operate/reschedule.ts'
import {
  drainOptions,
  enqueueManyOptions,
  enqueueOptions,
  jobOptions,
  leaderOptions,
  listOptions,
  logOptions,
  pauseOptions,
  queueOptions,
  reaperOptions,
  redriveOptions,
  runOptions,
  stopOptions,
  waitOptions,
} from '../../packages/holdfast/src/queue/options.ts'
import type { Table } from '../../packages/holdfast/src/resolve-options.ts'
import {
  fileOptions,
  memoryOptions,
  postgresOptions,
  redisOptions,
  sqliteOptions,
} from '../../packages/holdfast/src/storage/options.ts'
import { deduplicationTypes } from './deduplication.ts'

export interface Section {
  /** The face, a heading of its own. */
  readonly face: string
  readonly title: string
  readonly table: Table
  /** Interfaces that document the options, as `path#Type` below the packages folder. */
  readonly types: readonly string[]
  /** Sentences for options that no interface documents. */
  readonly sentences?: Readonly<Record<string, string>>
}

const queue = 'holdfast/src/queue'
const operate = 'holdfast/src/engine/operate'
const job = 'holdfast/src/engine/job'
const limits = 'holdfast/src/engine/limits/limits-options.ts'

export const sections: readonly Section[] = [
  {
    face: 'Queue',
    title: '`new Queue(options)`',
    table: queueOptions,
    types: [`${queue}/queue-config.ts#QueueConfig`],
  },
  {
    face: 'Queue',
    title: '`queue.enqueue(id, payload, options)`',
    table: enqueueOptions,
    types: [
      `${queue}/enqueue.ts#EnqueueOptions`,
      `${queue}/enqueue.ts#JobOptions`,
      `${job}/job-options.ts#SharedJobOptions`,
    ],
  },
  {
    face: 'Queue',
    title: '`group` of a job, on every face, as an object',
    table: groupOptions,
    types: [`${job}/job-options.ts#GroupOptions`],
  },
  {
    face: 'Queue',
    title: '`limits` of a type, on every face',
    table: limitsOptions,
    types: [`${limits}#LimitsOptions`],
  },
  {
    face: 'Queue',
    title: '`limits.group`',
    table: groupLimitsOptions,
    types: [`${limits}#GroupLimitsOptions`],
  },
  { face: 'Queue', title: '`limits.rate`, `limits.group.rate`', table: rateOptions, types: [`${limits}#RateOptions`] },
  {
    face: 'Queue',
    title: '`queue.setLimits(patch, options)`; `admin.limits.set(target, patch, options)` takes `by`',
    table: setLimitsOptions,
    types: [`${limits}#SetLimitsOptions`],
  },
  {
    face: 'Queue',
    title: '`queue.limits(options)`, `admin.limits.get(target, options)`',
    table: readLimitsOptions,
    types: ['holdfast/src/engine/limits/limits-calls.ts#ReadLimitsOptions'],
  },
  {
    face: 'Queue',
    title: '`rateLimited(options)`, on every face',
    table: rateLimitedOptions,
    types: [`${job}/directives.ts#RateLimitedOptions`],
  },
  {
    face: 'Queue',
    title: '`deduplication` of a job',
    table: deduplicationOptions,
    types: deduplicationTypes,
  },
  {
    face: 'Queue',
    title: '`queue.enqueueAndWait(id, payload, options)`, besides those of `enqueue`',
    table: Object.fromEntries(Object.entries(waitOptions).filter(([name]) => !(name in jobOptions))),
    types: [`${queue}/enqueue.ts#EnqueueAndWaitOptions`],
  },
  {
    face: 'Queue',
    title: '`queue.enqueueMany(items, options)`; each item has `id`, `payload` and the options of `enqueue` but `tx`',
    table: enqueueManyOptions,
    types: [`${queue}/enqueue-many.ts#EnqueueManyOptions`],
  },
  {
    face: 'Queue',
    title: '`queue.cancel(id, options)`',
    table: cancelOptions,
    types: [`${operate}/cancel.ts#CancelOptions`, `${operate}/cancel.ts#OperatorCancelOptions`],
  },
  {
    face: 'Queue',
    title: '`queue.reschedule(id, options)`; `queue.runNow(id, options)` takes `tx`',
    table: rescheduleOptions,
    types: [`${operate}/reschedule.ts#RescheduleOptions`, `${operate}/reschedule.ts#RunNowOptions`],
  },
  {
    face: 'Queue',
    title: '`queue.logs(id, options)`',
    table: logOptions,
    types: [`${job}/log-lines.ts#LogOptions`],
  },
  {
    face: 'Queue',
    title: '`queue.stop(options)`',
    table: stopOptions,
    types: [`${queue}/queue-config.ts#QueueStopOptions`],
  },
  {
    face: 'Queue',
    title: '`queue.run(options)`',
    table: runOptions,
    types: ['holdfast/src/engine/lifecycle.ts#RunOptions', `${queue}/queue-config.ts#QueueStopOptions`],
  },
  {
    face: 'Queue',
    title: '`queue.list(query)`; `admin.jobs.list(query)` also takes `face`, `name` and `types`',
    table: listOptions,
    types: [`${operate}/job-filter.ts#JobQuery`, `${operate}/job-filter.ts#JobFilter`],
  },
  {
    face: 'Queue',
    title: '`queue.redrive(filter, options)`, and every bulk action without `edit`',
    table: redriveOptions,
    types: [`${operate}/bulk.ts#RedriveOptions`, `${operate}/bulk-action.ts#BulkOptions`],
  },
  {
    face: 'Queue',
    title: '`queue.drainWaiting(options)`',
    table: drainOptions,
    types: [`${queue}/operating.ts#DrainWaitingOptions`, `${operate}/bulk-action.ts#BulkOptions`],
  },
  {
    face: 'Queue',
    title: '`queue.pause(options)`, `queue.resume(options)`',
    table: pauseOptions,
    types: [`${queue}/operating.ts#QueuePauseOptions`],
  },
  { face: 'Queue', title: '`new Reaper(options)`', table: reaperOptions, types: [`${queue}/reaper.ts#ReaperConfig`] },
  {
    face: 'Queue',
    title: '`leaderElection` of a Reaper',
    table: leaderOptions,
    types: [`${queue}/reaper.ts#LeaderElection`],
  },
  {
    face: 'Admin',
    title: '`createAdmin(options)`',
    table: adminOptions,
    types: ['holdfast/src/admin/admin.ts#AdminOptions'],
  },
  {
    face: 'Admin',
    title: '`defineConfig(options)`, of the [command line](cli.md)',
    table: configOptions,
    types: ['holdfast/src/cli/config.ts#HoldfastConfig'],
  },
  {
    face: 'Admin',
    title: '`admin.jobs.cancel(job, options)`, `admin.bulk.cancel(jobs, options)`',
    table: operatorCancelOptions,
    types: [`${operate}/cancel.ts#OperatorCancelOptions`],
  },
  {
    face: 'Admin',
    title: '`admin.jobs.reschedule(job, options)`; `admin.jobs.runNow(job, options)` takes `tx`',
    table: rescheduleOptions,
    types: [`${operate}/reschedule.ts#RescheduleOptions`, `${operate}/reschedule.ts#RunNowOptions`],
  },
  {
    face: 'Storages',
    title: '`new MemoryStorage(options)`',
    table: memoryOptions,
    types: ['holdfast/src/storage/memory/memory-storage.ts#MemoryStorageOptions'],
  },
  {
    face: 'Storages',
    title: '`new SqliteStorage(options)`',
    table: sqliteOptions,
    types: ['holdfast/src/storage/sqlite/sqlite-storage.ts#SqliteStorageOptions'],
  },
  {
    face: 'Storages',
    title: '`new FileStorage(options)`',
    table: fileOptions,
    types: ['holdfast/src/storage/file/file-storage.ts#FileStorageOptions'],
  },
  {
    face: 'Storages',
    title: '`new RedisStorage(options)`',
    table: redisOptions,
    types: ['holdfast/src/storage/redis/redis-options.ts#RedisStorageOptions'],
  },
  {
    face: 'Storages',
    title: '`new PostgresStorage(options)`',
    table: postgresOptions,
    types: ['holdfast/src/storage/postgres/postgres-options.ts#PostgresStorageOptions'],
  },
]
