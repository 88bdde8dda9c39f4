// npm run bench:dashboard -- [--driver sqlite] [--jobs 1000000] [--types 1000]
//
// What the first screens of the dashboard cost a server with many jobs: the figure of the page's own cost line, for the overview and for
// the first page of each kind of filter. Each is asked of a new dashboard, so that no answer is shared.

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createDashboard } from '@holdfast/dashboard'
import type { Storage } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { SqliteStorage } from 'holdfast/sqlite'
import { startPostgres } from '../../servers/postgres.ts'
import { startRedis } from '../../servers/redis.ts'
import { newWorkingDirectory, removeDirectory } from '../place.ts'
import { median } from '../statistics.ts'
import { fill, typeName } from './fill.ts'

const { values } = parseArgs({
  options: {
    driver: { type: 'string', multiple: true, default: ['sqlite', 'redis', 'postgres'] },
    jobs: { type: 'string', default: '1000000' },
    types: { type: 'string', default: '1000' },
  },
})
const [jobs, types] = [Number(values.jobs), Number(values.types)]
/** The bound of a figure, in ms, and how often each is measured. */
const [boundMs, rounds] = [50, 5]

const list = (q: string): string => `jobs?${new URLSearchParams({ q })}`
const views: Readonly<Record<string, string>> = {
  overview: 'overview',
  'jobs, no filter': 'jobs',
  'jobs, state:failed': list('state:failed'),
  'jobs, state:queued': list('state:queued'),
  'jobs, type': list(`type:${typeName(7)}`),
  'jobs, type and state': list(`type:${typeName(7)} state:completed`),
  'jobs, group': list('group:tenant-7'),
  'jobs, search field': list('customer:c-42'),
  'jobs, age>1h': list('age>1h'),
  'jobs, age<1h': list('age<1h'),
  'jobs, newest first': `jobs?sort=new&q=state:failed`,
  types: 'types',
  limits: 'limits',
  workers: 'workers',
  history: 'history?range=1h',
}

interface Place {
  readonly storage: Storage
  close(): Promise<void>
}

async function placeOf(driver: string): Promise<Place> {
  if (driver === 'redis') {
    const server = await startRedis()
    return { storage: new RedisStorage({ url: server.url }), close: () => server.stop() }
  }
  if (driver === 'postgres') {
    const server = await startPostgres()
    const storage = new PostgresStorage({ url: server.url, callTimeoutMs: 60_000 })
    return { storage, close: () => server.stop() }
  }
  const directory = newWorkingDirectory()
  const storage = new SqliteStorage({ path: join(directory, 'jobs.db'), durability: 'relaxed' })
  return { storage, close: async () => removeDirectory(directory) }
}

/** Infinity: the storage did not answer in time. */
async function costOf(storage: Storage, path: string): Promise<number> {
  const dashboard = createDashboard({ storage, authorize: () => ({ actor: 'bench' }) })
  try {
    const response = await dashboard(new Request(`http://localhost/api/${path}`))
    if (response.status === 503) return Infinity
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return ((await response.json()) as { costMs: number }).costMs
  } finally {
    await dashboard.close()
  }
}

for (const driver of values.driver) {
  const { storage, close } = await placeOf(driver)
  await storage.connect()
  console.log(`${driver}: adding ${jobs} jobs of ${types} types`)
  await fill(storage, jobs, types)
  for (const [name, path] of Object.entries(views)) {
    const costs: number[] = []
    for (let round = 0; round < rounds; round++) costs.push(await costOf(storage, path))
    const cost = costs.includes(Infinity) ? Infinity : median(costs)
    const mark = cost === Infinity ? '  no answer in time' : cost <= boundMs ? '' : `  over ${boundMs} ms`
    console.log(`${driver.padEnd(9)} ${name.padEnd(22)} ${cost.toFixed(1).padStart(8)} ms${mark}`)
  }
  await storage.disconnect()
  await close()
}
