// The drivers, as several processes have them: a place, and what one of them is told to open the same. A new one is a line in
// each table here.

import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Storage } from 'holdfast'
import { quickFolder } from '../drivers.ts'
import { giveSchemaBack, planOnce, postgresPlace, stopPostgres, takeSchema } from '../postgres-subject.ts'
import { placeOf, stopPlaces } from '../redis-places.ts'
import { type Spec, storageMaker } from './spec.ts'

/** An empty place, and handles on it. */
export interface Place {
  readonly spec: Spec
  /** A handle of its own, as another process has it; on memory, the one there is. */
  storage(): Storage
  close(): Promise<void>
}

export interface ProcessDriver {
  readonly name: string
  open(): Promise<Place>
}

let places = 0

export const processDrivers: Readonly<Record<Spec['driver'], ProcessDriver>> = {
  memory: { name: 'memory', open: memoryPlace },
  sqlite: { name: 'sqlite', open: () => folderPlace('sqlite') },
  file: { name: 'file', open: () => folderPlace('file') },
  postgres: { name: 'postgres', open: postgresTasksPlace },
  redis: { name: 'redis', open: () => redisPlace('redis') },
}

async function postgresTasksPlace(): Promise<Place> {
  const { server } = await postgresPlace(planOnce)
  const spec: Spec = { driver: 'postgres', at: server.url, prefix: takeSchema() }
  const storage = await storageMaker(spec)
  // The tables are made here, not in the time that a test waits for.
  await connected(storage(), async () => {})
  return {
    spec,
    storage,
    close: () => connected(storage(), (last) => giveSchemaBack(last, spec.prefix)),
  }
}

async function connected(storage: Storage, run: (storage: Storage) => Promise<void>): Promise<void> {
  await storage.connect()
  await run(storage)
  await storage.disconnect()
}

/** The servers that this file asked for. */
export async function stopServers(): Promise<void> {
  await stopPlaces()
  await stopPostgres()
}

export async function redisPlace(at: 'redis' | 'valkey'): Promise<Place> {
  const { options } = await (await placeOf(at)).way()
  const spec: Spec = { driver: 'redis', at: options.url!, prefix: `tasks-${process.pid}-${++places}` }
  return { spec, storage: await storageMaker(spec), close: async () => {} }
}

async function memoryPlace(): Promise<Place> {
  const spec: Spec = { driver: 'memory', at: '', prefix: '' }
  const storage = (await storageMaker(spec))()
  return { spec, storage: () => storage, close: async () => {} }
}

async function folderPlace(driver: 'sqlite' | 'file'): Promise<Place> {
  const spec: Spec = { driver, at: await mkdtemp(join(quickFolder, `holdfast-tasks-`)), prefix: '' }
  return {
    spec,
    storage: await storageMaker(spec),
    // Again, if somebody who stops after this one still writes.
    close: () => rm(spec.at, { recursive: true, force: true, maxRetries: 50, retryDelay: 10 }),
  }
}
