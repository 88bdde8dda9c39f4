// Every table of options that a user can pass, by face: the rows come from the code, the sentences from the TSDoc of its type.

import {
  cancelOptions,
  enqueueOptions,
  jobOptions,
  leaderOptions,
  queueOptions,
  reaperOptions,
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
    types: [`${queue}/enqueue.ts#EnqueueOptions`, `${queue}/enqueue.ts#JobOptions`],
  },
  {
    face: 'Queue',
    title: '`queue.enqueueAndWait(id, payload, options)`, besides those of `enqueue`',
    table: Object.fromEntries(Object.entries(waitOptions).filter(([name]) => !(name in jobOptions))),
    types: [`${queue}/enqueue.ts#EnqueueAndWaitOptions`],
  },
  {
    face: 'Queue',
    title: '`queue.cancel(id, options)`',
    table: cancelOptions,
    types: [`${queue}/cancel.ts#CancelOptions`],
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
  { face: 'Queue', title: '`new Reaper(options)`', table: reaperOptions, types: [`${queue}/reaper.ts#ReaperConfig`] },
  {
    face: 'Queue',
    title: '`leaderElection` of a Reaper',
    table: leaderOptions,
    types: [`${queue}/reaper.ts#LeaderElection`],
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
