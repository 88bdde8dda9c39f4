// The storages that a run can be made on, each in a directory of its own, or on a server of its own.

import { join } from 'node:path'
import type { Storage } from 'holdfast'
import type { FaultKind } from './plan.ts'
import type { Service } from './service.ts'

interface Driver {
  /** The faults that can be made on it. */
  readonly kinds: readonly FaultKind[]
  /** Unless told otherwise: jobs a second, of all producers. */
  readonly rate: number
  /** Unless told otherwise. More, where more keeps them from work at the same time. */
  readonly workers: number
  /** Acknowledged jobs a second, below which a run proves too little. */
  readonly leastRate: number
  /** @param url of its server, if it has one */
  open(directory: string, url?: string): Promise<Storage>
  /** Starts its server, with a way to it for each slot. */
  serve?(slots: readonly string[]): Promise<Service>
  /** A user's rows are written in the transactions that add some of the jobs. */
  readonly hasRows?: boolean
  /** Ends the connection of somebody, from the server's side. False: there was nobody. */
  endSession?(storage: Storage): Promise<boolean>
  /** What is wrong with what lies on the disk, once nobody uses it. */
  inspect?(directory: string): Promise<readonly string[]>
}

const embedded = { kinds: ['kill', 'stop', 'point', 'full'], rate: 100, workers: 3, leastRate: 33 } as const

export const drivers: Readonly<Record<string, Driver>> = {
  sqlite: {
    ...embedded,
    open: (directory) => make('holdfast/sqlite', 'SqliteStorage', { path: join(directory, 'jobs.db') }),
    async inspect(directory) {
      const { DatabaseSync } = await import('node:sqlite')
      const database = new DatabaseSync(join(directory, 'jobs.db'))
      try {
        const rows = database.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[]
        return rows.map((row) => row.integrity_check).filter((line) => line !== 'ok')
      } finally {
        database.close()
      }
    },
  },
  file: {
    ...embedded,
    open: (directory) => make('holdfast/file', 'FileStorage', { directory: join(directory, 'jobs') }),
  },
  redis: {
    kinds: ['kill', 'stop', 'point', 'server', 'proxy'],
    rate: 350,
    workers: 4,
    leastRate: 166,
    open: (_, url) => make('holdfast/redis', 'RedisStorage', { url }),
    serve: async (slots) => (await import('./redis-service.ts')).serveRedis(slots),
  },
  postgres: {
    kinds: ['kill', 'stop', 'point', 'server', 'session', 'proxy'],
    // More than on Redis: its processes take longer to start, and so are there for less of the time.
    rate: 500,
    workers: 4,
    leastRate: 84,
    hasRows: true,
    open: (_, url) => make('holdfast/postgres', 'PostgresStorage', { url }),
    serve: async (slots) => (await import('./postgres-service.ts')).servePostgres(slots),
    endSession: async (storage) => (await import('./postgres-service.ts')).endSession(storage),
  },
}

export function driverNamed(name: string): Driver {
  const driver = drivers[name]
  if (!driver) throw new Error(`no such driver: ${name}`)
  return driver
}

/** By name: only the driver that is asked for is loaded. */
async function make(path: string, name: string, options: object): Promise<Storage> {
  const loaded = (await import(path)) as Record<string, new (given: object) => Storage>
  return new loaded[name]!(options)
}
