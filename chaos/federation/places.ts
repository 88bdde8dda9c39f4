// The places of a sender: where it stores its jobs and its tables.

import { join } from 'node:path'
import { postgresStore, sqliteStore, type Store } from '@holdfast/federation'
import type { Storage } from 'holdfast'
import { startPostgres } from '../../servers/postgres.ts'
import { startRedis } from '../../servers/redis.ts'

/** URLs of the servers that a run has started. */
export interface Urls {
  readonly postgres?: string
  readonly redis?: string
}

interface Place {
  readonly text: string
  readonly servers: readonly (keyof Urls)[]
  open(directory: string, urls: Urls): Promise<{ readonly storage: Storage; readonly store: Store }>
}

export const places: Readonly<Record<string, Place>> = {
  sqlite: {
    text: 'one SQLite file for both',
    servers: [],
    async open(directory) {
      const { SqliteStorage } = await import('holdfast/sqlite')
      const storage = new SqliteStorage({ path: join(directory, 'sender.db') })
      return { storage, store: sqliteStore({ storage }) }
    },
  },
  'sqlite-apart': {
    text: 'two SQLite files, without a common transaction',
    servers: [],
    async open(directory) {
      const { SqliteStorage } = await import('holdfast/sqlite')
      const storage = new SqliteStorage({ path: join(directory, 'jobs.db') })
      return { storage, store: sqliteStore({ path: join(directory, 'tables.db') }) }
    },
  },
  postgres: {
    text: 'one Postgres database for both',
    servers: ['postgres'],
    async open(_, { postgres: url }) {
      const { PostgresStorage } = await import('holdfast/postgres')
      const storage = new PostgresStorage({ url: url! })
      return { storage, store: postgresStore({ storage, migrate: true }) }
    },
  },
  'postgres-redis': {
    text: 'tables in Postgres, jobs in Redis',
    servers: ['postgres', 'redis'],
    async open(_, { postgres, redis }) {
      const { RedisStorage } = await import('holdfast/redis')
      return { storage: new RedisStorage({ url: redis! }), store: postgresStore({ url: postgres!, migrate: true }) }
    },
  },
}

/** Returns the place with this name. @throws Error if there is none */
export function placeNamed(name: string): Place {
  const place = places[name]
  if (!place) throw new Error(`--place: expected one of ${Object.keys(places).join(', ')}, got "${name}"`)
  return place
}

/** Starts the servers that the place needs. */
export async function serve(name: string): Promise<{ readonly urls: Urls; stop(): Promise<void> }> {
  const { servers } = placeNamed(name)
  const postgres = servers.includes('postgres') ? await startPostgres() : undefined
  const redis = servers.includes('redis') ? await startRedis({ appendonly: 'always' }) : undefined
  return {
    urls: { ...(postgres && { postgres: postgres.url }), ...(redis && { redis: redis.url }) },
    stop: async () => void (await Promise.all([postgres?.stop(), redis?.stop()])),
  }
}
