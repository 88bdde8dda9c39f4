// npm run bench:dashboard -- [--driver sqlite] [--jobs 1000000] [--types 1000] [--at URL] [--only fill|measure] [--rounds 5]
//
// What the first screens of the dashboard cost a server with many jobs: the figure of the page's own cost line, for the overview and for
// the first page of each kind of filter: median, and least beside it, because others may use the machine. Each is asked of a new
// dashboard, so that no answer is shared. The count of all jobs runs beside the requests, and has a line of its own, without a bound.
// `--at` names a server that runs already (of sqlite: a file), so that it can be filled in one call, and measured in others when
// nothing else runs.

import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createDashboard, type Dashboard } from '@holdfast/dashboard'
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
    rounds: { type: 'string', default: '5' },
  },
})
const [jobs, types] = [Number(values.jobs), Number(values.types)]
/** The bound of a figure, in ms, and how often each is measured. */
const [boundMs, rounds] = [50, Number(values.rounds)]
/** Pause between two looks for the end of a count, in ms. */
const lookMs = 10

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
  'jobs, newest first': 'jobs?sort=new',
  'newest first, failed': 'jobs?sort=new&q=state:failed',
  'newest first, queued': 'jobs?sort=new&q=state:queued',
  'oldest first, failed': 'jobs?sort=old&q=state:failed',
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

interface Cost {
  /** Infinity: the storage did not answer in time. */
  readonly costMs: number
  readonly countMs?: number
}

async function ask(dashboard: Dashboard, path: string): Promise<Cost> {
  const response = await dashboard(new Request(`http://localhost/api/${path}`))
  if (response.status === 503) return { costMs: Infinity }
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Cost
}

/** What a view costs, and what the count took that it began. */
async function costOf(storage: Storage, path: string): Promise<Required<Cost>> {
  const dashboard = createDashboard({ storage, authorize: () => ({ actor: 'bench' }) })
  try {
    const { costMs } = await ask(dashboard, path)
    for (;;) {
      const { countMs } = await ask(dashboard, 'summary')
      if (countMs !== undefined) return { costMs, countMs }
      await setTimeout(lookMs)
    }
  } finally {
    await dashboard.close()
  }
}

async function measure(driver: string, storage: Storage): Promise<void> {
  const counts: number[] = []
  for (const [name, path] of Object.entries(views)) {
    const costs: number[] = []
    for (let round = 0; round < rounds; round++) {
      const { costMs, countMs } = await costOf(storage, path)
      costs.push(costMs)
      counts.push(countMs)
    }
    const cost = costs.includes(Infinity) ? Infinity : median(costs)
    print(driver, name, costs, cost === Infinity ? 'no answer in time' : cost <= boundMs ? '' : `over ${boundMs} ms`)
  }
  print(driver, 'the count, beside them', counts, `load ${loadavg()[0]!.toFixed(1)} on ${cpus().length} cores`)
}

function print(driver: string, name: string, costs: readonly number[], mark: string): void {
  const [middle, least] = [median(costs), Math.min(...costs)].map((cost) => cost.toFixed(1).padStart(8))
  console.log(`${driver.padEnd(9)} ${name.padEnd(22)} ${middle} ms, least ${least} ms  ${mark}`.trimEnd())
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
