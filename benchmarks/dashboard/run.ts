// npm run bench:dashboard -- [--driver sqlite] [--jobs 1000000] [--types 1000] [--at URL] [--only fill|measure]
//
// What the first screens of the dashboard cost a server with many jobs: the figure of the page's own cost line, for the overview and for
// the first page of each kind of filter. Each is asked of a new dashboard, so that no answer is shared. `--at` names a server that
// runs already (of sqlite: a file), so that it can be filled in one call, and measured in others when nothing else runs.

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
    at: { type: 'string' },
    only: { type: 'string' },
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
  'jobs, state:processing': list('state:processing'),
  'jobs, type': list(`type:${typeName(7)}`),
  'jobs, type and state': list(`type:${typeName(7)} state:completed`),
  'jobs, group': list('group:tenant-7'),
  'jobs, search field': list('customer:c-42'),
  'jobs, field and state': list('customer:c-42 state:failed'),
  'jobs, error': list('error:ECONN*'),
  'jobs, error of none': list('error:nowhere'),
  'jobs, an id': list('job-4711'),
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
  if (values.at !== undefined) return { storage: storageAt(driver, values.at), close: async () => {} }
  if (driver === 'sqlite') {
    const directory = newWorkingDirectory()
    return { storage: storageAt(driver, join(directory, 'jobs.db')), close: async () => removeDirectory(directory) }
  }
  const server = await (driver === 'redis' ? startRedis() : startPostgres())
  return { storage: storageAt(driver, server.url), close: () => server.stop() }
}

function storageAt(driver: string, at: string): Storage {
  const callTimeoutMs = 60_000
  if (driver === 'redis') return new RedisStorage({ url: at, callTimeoutMs })
  if (driver === 'postgres') return new PostgresStorage({ url: at, callTimeoutMs })
  return new SqliteStorage({ path: at, durability: 'relaxed', callTimeoutMs })
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

async function measure(driver: string, storage: Storage): Promise<void> {
  for (const [name, path] of Object.entries(views)) {
    const costs: number[] = []
    for (let round = 0; round < rounds; round++) costs.push(await costOf(storage, path))
    const cost = costs.includes(Infinity) ? Infinity : median(costs)
    const mark = cost === Infinity ? '  no answer in time' : cost <= boundMs ? '' : `  over ${boundMs} ms`
    console.log(`${driver.padEnd(9)} ${name.padEnd(22)} ${cost.toFixed(1).padStart(8)} ms${mark}`)
  }
}

for (const driver of values.driver) {
  const { storage, close } = await placeOf(driver)
  await storage.connect()
  if (values.only !== 'measure') {
    console.log(`${driver}: adding ${jobs} jobs of ${types} types`)
    await fill(storage, jobs, types)
  }
  if (values.only !== 'fill') await measure(driver, storage)
  await storage.disconnect()
  await close()
}
