// A storage of its own on each driver, with its server where it has one.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Storage } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { SqliteStorage } from 'holdfast/sqlite'
import { startPostgres } from '../../../servers/postgres.ts'
import { startRedis } from '../../../servers/redis.ts'

export const driverNames = ['sqlite', 'redis', 'postgres'] as const
export type DriverName = (typeof driverNames)[number]

interface Opened {
  readonly storage: Storage
  close(): Promise<void>
}

const openers: Readonly<Record<DriverName, () => Promise<Opened>>> = {
  async sqlite() {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-dashboard-'))
    const storage = new SqliteStorage({ path: join(folder, 'jobs.db'), durability: 'relaxed' })
    return { storage, close: () => rm(folder, { recursive: true, force: true }) }
  },
  async redis() {
    const server = await startRedis()
    return { storage: new RedisStorage({ url: server.url }), close: () => server.stop() }
  },
  async postgres() {
    const server = await startPostgres()
    return { storage: new PostgresStorage({ url: server.url }), close: () => server.stop() }
  },
}

export const openStorage = (driver: DriverName): Promise<Opened> => openers[driver]()
