// Where a storage is, as it is told to another process, and the way to open it there.

import { join } from 'node:path'
import type { Storage } from 'holdfast'

/** What another process needs to open the same storage. */
export interface Spec {
  readonly driver: 'memory' | 'sqlite' | 'file' | 'postgres' | 'redis'
  /** A directory, or a server. */
  readonly at: string
  readonly prefix: string
}

/** A batch of 10,000 is one call, and the machine may have other things to do. */
const callTimeoutMs = 20_000

/** Each imports its driver alone: a process that loads them all takes twice as long to start. */
const makers: Readonly<Record<Spec['driver'], (spec: Spec) => Promise<() => Storage>>> = {
  memory: async () => {
    const { MemoryStorage } = await import('holdfast')
    return () => new MemoryStorage()
  },
  sqlite: async ({ at }) => {
    const { SqliteStorage } = await import('holdfast/sqlite')
    return () => new SqliteStorage({ path: join(at, 'jobs.db'), callTimeoutMs })
  },
  file: async ({ at }) => {
    const { FileStorage } = await import('holdfast/file')
    return () => new FileStorage({ directory: at, callTimeoutMs })
  },
  postgres: async ({ at, prefix }) => {
    const { PostgresStorage } = await import('holdfast/postgres')
    return () => new PostgresStorage({ url: at, schema: prefix, callTimeoutMs })
  },
  redis: async ({ at, prefix }) => {
    const { RedisStorage } = await import('holdfast/redis')
    return () => new RedisStorage({ url: at, prefix, callTimeoutMs })
  },
}

/** A function that makes one handle after the other. */
export const storageMaker = (spec: Spec): Promise<() => Storage> => makers[spec.driver](spec)
