// Where a storage is, as it is told to another process, and the way to open it there.

import { join } from 'node:path'
import { MemoryStorage, type Storage } from 'holdfast'
import { FileStorage } from 'holdfast/file'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { SqliteStorage } from 'holdfast/sqlite'

/** What another process needs to open the same storage. */
export interface Spec {
  readonly driver: 'memory' | 'sqlite' | 'file' | 'postgres' | 'redis'
  /** A directory, or a server. */
  readonly at: string
  readonly prefix: string
}

const makers: Readonly<Record<Spec['driver'], (spec: Spec) => Storage>> = {
  memory: () => new MemoryStorage(),
  sqlite: ({ at }) => new SqliteStorage({ path: join(at, 'jobs.db') }),
  file: ({ at }) => new FileStorage({ directory: at }),
  // A batch of 10,000 is one call, and the machine may have other things to do.
  postgres: ({ at, prefix }) => new PostgresStorage({ url: at, schema: prefix, callTimeoutMs: 20_000 }),
  redis: ({ at, prefix }) => new RedisStorage({ url: at, prefix }),
}

export const storageOf = (spec: Spec): Storage => makers[spec.driver](spec)
