// The drivers that the conformance suite is run on. A new one is a line in the table.

import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, systemClock } from '../src/clock.ts'
import type { Subject } from '../../conformance/src/index.ts'
import { FileStorage } from '../src/storage/file/file-storage.ts'
import { MemoryStorage } from '../src/storage/memory/memory-storage.ts'
import { SqliteStorage } from '../src/storage/sqlite/index.ts'
import type { PostgresClientName } from './postgres-subject.ts'
import { quickFolder } from './quick-folder.ts'
import type { ClientName } from './redis-places.ts'
import { writeDatabase } from './sqlite-database.ts'

export { quickFolder } from './quick-folder.ts'

/** @param client of those that have several: the library to use */
export const drivers: Readonly<Record<string, (client?: ClientName) => Subject | Promise<Subject>>> = {
  memory: () => withManualClock((clock) => new MemoryStorage({ clock })),
  sqlite: () =>
    inDirectory(
      (directory, clock) => new SqliteStorage({ path: join(directory, 'jobs.db'), clock }),
      (directory) => writeDatabase(join(directory, 'jobs.db')),
    ),
  file: () => inDirectory((directory, clock) => new FileStorage({ directory, clock })),
  redis: (client) => redis('redis', client),
  'redis-live': async (client) => (await import('./redis-subject.ts')).liveRedisSubject('redis', client),
  cluster: (client) => redis('cluster', client),
  valkey: (client) => redis('valkey', client),
  postgres: () => postgres('pg'),
  'postgres-js': () => postgres('postgresjs'),
  pgbouncer: () => postgres('pgbouncer'),
}

// Imported when they are used: a process that loads all drivers and their clients takes twice as long to start.
const redis = async (at: 'redis' | 'cluster' | 'valkey', client?: ClientName): Promise<Subject> =>
  (await import('./redis-subject.ts')).redisSubject(at, client)
const postgres = async (client: PostgresClientName): Promise<Subject> =>
  (await import('./postgres-subject.ts')).postgresSubject(client)

/** A directory of its own, and more handles on it as other processes have them. */
async function inDirectory(
  open: (directory: string, clock: Clock) => Subject['storage'],
  fill?: (directory: string) => Promise<void>,
): Promise<Subject> {
  const directory = await mkdtemp(join(quickFolder, 'holdfast-'))
  await fill?.(directory)
  const others: Subject['storage'][] = []
  let time: Clock
  const subject = withManualClock((clock) => open(directory, (time = clock)))
  return {
    ...subject,
    another: async () => {
      const other = open(directory, time)
      others.push(other)
      await other.connect()
      return other
    },
    close: async () => {
      for (const other of others) await other.disconnect()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** A storage whose time stands until it is told to go on. It sets no timers, so the clock needs none. */
export function withManualClock(
  open: (clock: Clock) => Subject['storage'],
): Subject & Required<Pick<Subject, 'advance'>> {
  let now = 1_767_225_600_000
  return {
    storage: open({ ...systemClock, now: () => now }),
    advance: async (ms) => {
      now += ms
    },
  }
}
