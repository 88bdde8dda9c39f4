// The storages that a run can use, each in its own directory or on its own server.

import { join } from 'node:path'
import type { Storage } from 'holdfast'
import type { FaultKind } from './plan.ts'
import type { Service } from './service.ts'

interface Driver {
  /** The kinds of faults that apply to this driver. */
  readonly kinds: readonly FaultKind[]
  /** Those of them that a run has only if `--kinds` names them: they take most of its time. */
  readonly onRequest?: readonly FaultKind[]
  /** Default rate: jobs per second of all producers. */
  readonly rate: number
  /** Default number of workers. More, where more of them are away at the same time. */
  readonly workers: number
  /** Acknowledged jobs per second below which a run proves too little. */
  readonly leastRate: number
  /** @param url of the server, if the driver has one */
  open(directory: string, url?: string): Promise<Storage>
  /** Starts the server, with a proxy for each slot. */
  serve?(slots: readonly string[]): Promise<Service>
  /** Whether some jobs are added in a transaction with a user row. */
  readonly hasRows?: boolean
  /** Whether a claim may pass over jobs that another call has locked. */
  readonly passesLocked?: boolean
  /** Whether a replica is promoted when the server is killed or stopped. */
  readonly failsOver?: boolean
  /** Whether an add may lease its job to an idle worker. */
  readonly handsOver?: boolean
  /** Ends one session from the server's side. Returns false if there was none. */
  endSession?(storage: Storage): Promise<boolean>
  /** Checks the files on disk after all processes ended. Returns what is wrong. */
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
    kinds: ['kill', 'stop', 'point', 'server', 'freeze', 'session', 'proxy'],
    onRequest: ['freeze', 'session'],
    rate: 350,
    workers: 4,
    leastRate: 166,
    handsOver: true,
    open: (_, url) => make('holdfast/redis', 'RedisStorage', { url }),
    serve: async (slots) => (await import('./redis-service.ts')).serveRedis(slots),
  },
  cluster: {
    kinds: ['kill', 'stop', 'point', 'server', 'freeze', 'session', 'proxy'],
    onRequest: ['freeze', 'session'],
    rate: 250,
    workers: 4,
    // A promotion takes seconds, in which nothing is acknowledged.
    leastRate: 40,
    failsOver: true,
    handsOver: true,
    open: async (_, url) => (await import('./cluster-service.ts')).openCluster(url!),
    serve: async (slots) => (await import('./cluster-service.ts')).serveCluster(slots),
  },
  postgres: {
    kinds: ['kill', 'stop', 'point', 'server', 'freeze', 'session', 'proxy'],
    onRequest: ['freeze'],
    // More than on Redis: processes take longer to start and are available for less of the time.
    rate: 500,
    workers: 4,
    leastRate: 84,
    hasRows: true,
    passesLocked: true,
    handsOver: true,
    open: (_, url) => make('holdfast/postgres', 'PostgresStorage', { url }),
    serve: async (slots) => (await import('./postgres-service.ts')).servePostgres(slots),
    endSession: async (storage) => (await import('./postgres-service.ts')).endSession(storage),
  },
}

export function driverNamed(name: string): Driver {
  const driver = drivers[name]
  if (!driver) throw new Error(`driver: expected one of ${Object.keys(drivers).join(', ')}, got "${name}"`)
  return driver
}

/** Imports by name, so that only the requested driver is loaded. */
async function make(path: string, name: string, options: object): Promise<Storage> {
  const loaded = (await import(path)) as Record<string, new (given: object) => Storage>
  return new loaded[name]!(options)
}

/** The kinds of faults of a run that names none. */
export const usualKinds = ({ kinds, onRequest = [] }: Driver): FaultKind[] =>
  kinds.filter((kind) => !onRequest.includes(kind))
