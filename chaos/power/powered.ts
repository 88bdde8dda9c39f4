// The storages whose writes are recorded. Redis runs as a child of the recorded process, on the directory, with `appendfsync always`.

import { mkdirSync } from 'node:fs'
import type { Storage } from 'holdfast'
import { startRedis } from '../../servers/redis.ts'
import { driverNamed } from '../drivers.ts'

export interface PowerChild {
  readonly driver: string
  readonly directory: string
  readonly notes: string
  readonly jobs: number
  /** `relaxed`: must lose jobs, so that one sees that the check would. */
  readonly durability: 'full' | 'relaxed'
}

export interface Powered {
  readonly storage: Storage
  stop(): Promise<void>
}

export const powerDrivers = ['file', 'sqlite', 'redis'] as const

export async function openPowered(driver: string, directory: string, durability: 'full' | 'relaxed'): Promise<Powered> {
  mkdirSync(directory, { recursive: true })
  if (driver === 'redis') {
    const appendonly = durability === 'full' ? 'always' : 'everysec'
    const server = await startRedis({ appendonly, args: ['--dir', directory] })
    return { storage: await driverNamed(driver).open(directory, server.url), stop: () => server.stop() }
  }
  const { SqliteStorage } = await import('holdfast/sqlite')
  const { FileStorage } = await import('holdfast/file')
  const storage =
    driver === 'sqlite'
      ? new SqliteStorage({ path: `${directory}/jobs.db`, durability })
      : new FileStorage({ directory: `${directory}/jobs`, durability })
  return { storage, stop: async () => {} }
}
