// A storage as a newer version may leave it, with a layout that this version does not know. It must be refused at the start, by an error that
// says so.

import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isHoldfastError, Queue } from 'holdfast'
import type { Storage } from 'holdfast/storage'
import { sleep } from '../../child.ts'
import type { Tx } from '../../user-rows.ts'
import type { MatrixDriver } from '../faults.ts'
import type { Place } from '../open-place.ts'

/** A dependency of the package's tests, not of the workspace. */
const library: string = 'iovalkey'

/** @returns what is wrong: nothing, if the storage is refused as promised */
export async function acceptsNewer(driver: MatrixDriver, place: Place, directory: string): Promise<string[]> {
  await (driver === 'postgres' ? addMigration(place) : changes[driver as keyof typeof changes](directory, place.url!))
  const queue = new Queue({ storage: await place.open(), name: 'mixed' })
  const started = queue.start().then(
    () => 'it was opened',
    (error: unknown) =>
      isHoldfastError(error, 'STORAGE_ERROR') && /Use a newer version/.test(error.message) ? '' : String(error),
  )
  const end = await Promise.race([started, sleep(20_000).then(() => 'it was neither opened nor refused within 20 s')])
  await queue.stop().catch(() => {})
  return end === '' ? [] : [`a storage of a newer version: ${end}`]
}

const changes = {
  async sqlite(directory: string): Promise<void> {
    const { DatabaseSync } = await import('node:sqlite')
    const database = new DatabaseSync(join(directory, 'jobs.db'))
    database.exec("INSERT INTO holdfast_migrations VALUES (999, 'of a newer version')")
    database.close()
  },
  async file(directory: string): Promise<void> {
    const newest = (pattern: string): string | undefined =>
      globSync(pattern, { cwd: join(directory, 'jobs') })
        .toSorted()
        .at(-1)
    const path = join(directory, 'jobs', newest('log/*/*.commit') ?? newest('snapshot/*.snapshot')!)
    writeFileSync(path, readFileSync(path, 'utf8').replace(/"format":\d+/, '"format":999'))
  },
  async redis(_: string, url: string): Promise<void> {
    const { Redis } = await clients()
    const client = new Redis(url)
    await client.set('{jq}::layout', '999')
    client.disconnect()
  },
  async cluster(_: string, url: string): Promise<void> {
    const { Cluster } = await clients()
    const { ports } = JSON.parse(url.slice('cluster:'.length)) as { readonly ports: readonly number[] }
    const client = new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })))
    await client.set('{holdfast}::layout', '999')
    client.disconnect()
  },
}

async function addMigration({ open }: Place): Promise<void> {
  const storage = (await open()) as Storage<Tx>
  await storage.connect()
  await storage.transaction!((tx) => tx.query("INSERT INTO holdfast.migrations VALUES (999, 'of a newer version')"))
  await storage.disconnect()
}

type Client = new (place: unknown) => { set(key: string, value: string): Promise<unknown>; disconnect(): void }

const clients = (): Promise<Record<'Redis' | 'Cluster', Client>> => import(library) as never
