// prometheus(): its output by a strict parser, its figures against count(), its bounds, and what we ship for Grafana and Prometheus.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { parse } from 'yaml'
import { fail, generateId, MemoryStorage, Queue, rateLimited, type Storage } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { SqliteStorage } from 'holdfast/sqlite'
import { createTasks, StorageMessageQueue } from 'holdfast/tasks'
import { prometheus, type PrometheusHandler } from 'holdfast/telemetry'
import { fakeClock } from 'holdfast/testing'
import { counters, gauges, histograms, prometheusName } from '../../src/telemetry/metrics/instruments.ts'
import { mostTypes } from '../../src/telemetry/metrics/type-labels.ts'
import { quickFolder } from '../drivers.ts'
import { newSchema, postgresPlace, stopPostgres } from '../postgres-subject.ts'
import { until } from '../queue/driver.ts'
import { placeOf, stopPlaces } from '../redis-places.ts'
import { anything } from '../tasks/fakes.ts'
import { parseExposition, type ParsedSample } from './exposition-parser.ts'

after(async () => void (await Promise.all([stopPlaces(), stopPostgres()])))

const scrape = async (handler: PrometheusHandler) => {
  const response = await handler(new Request('http://localhost/metrics'))
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  return parseExposition(await response.text())
}
type Scraped = Awaited<ReturnType<typeof scrape>>

const fits = ({ labels }: ParsedSample, wanted: Readonly<Record<string, string>>): boolean =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value)
/** The sum of the samples that fit. */
const figure = (scraped: Scraped, name: string, wanted: Readonly<Record<string, string>> = {}): number =>
  [...scraped.values()]
    .flatMap(({ samples }) => samples)
    .filter((sample) => sample.name === name && fits(sample, wanted))
    .reduce((sum, { value }) => sum + value, 0)

/** All values of each label. No other label exists: none has an id, a key, a group or a message. */
function labelsOf(scraped: Scraped): Map<string, Set<string>> {
  const values = new Map<string, Set<string>>()
  for (const { samples } of scraped.values()) {
    for (const { labels } of samples) {
      for (const [name, value] of Object.entries(labels)) {
        values.set(name, (values.get(name) ?? new Set()).add(value))
      }
    }
  }
  for (const name of values.keys()) assert.ok(labelNames.includes(name), name)
  return values
}
const labelNames: readonly string[] = ['driver', 'face', 'le', 'ok', 'outcome', 'state', 'type', 'verb', 'version']

/** Jobs of each face under load. */
const jobs = 100

/** A queue, chains and tasks on one storage. Names are unique: the channel is that of the process. */
async function load(t: TestContext, storage: Storage) {
  const clock = fakeClock()
  const handler = prometheus({ storage, clock })
  t.after(() => handler.close())
  const suffix = generateId()
  const queue = new Queue<number>({ storage, name: `mail-${suffix}`, maxAttempts: 2, backoff: 'none', concurrency: 5 })
  queue.execute((job) => {
    if (job.payload % 10 === 9) return fail('bad address')
    if (job.payload % 5 === 3 && job.attempts === 1) throw new Error('busy')
    return undefined
  })
  const types = defineJobTypes<{ order: { entry: true; input: number; output: number } }>()
  const client = await createClient({ storage, jobTypeRegistry: types })
  const worker = await createInProcessWorker({
    storage,
    jobTypeRegistry: types,
    jobTypeProcessors: { order: { process: async ({ job, complete }) => complete(job.input) } },
  })
  const stopWorker = await worker.start()
  const messages = new StorageMessageQueue(storage, { name: `tasks-${suffix}` })
  const tasks = createTasks({ queue: messages })
  const task = tasks.defineTask('report', { schema: anything<number>(), handler: () => {} })
  await Promise.all([queue.start(), tasks.start()])
  t.after(async () => {
    await Promise.all([queue.stop({ graceMs: 0 }), stopWorker(), tasks.stop()])
    await messages.close()
    await client.close()
  })
  return { handler, clock, suffix, queue, client, tasks, task }
}

const storages: Readonly<Record<string, (t: TestContext) => Promise<Storage>>> = {
  memory: async () => new MemoryStorage(),
  sqlite: async (t) => {
    const directory = await mkdtemp(join(quickFolder, 'holdfast-'))
    t.after(() => rm(directory, { recursive: true, force: true }))
    return new SqliteStorage({ path: join(directory, 'jobs.db') })
  },
  redis: async () => new RedisStorage({ ...(await (await placeOf('redis')).way()).options, prefix: generateId() }),
  postgres: async () => new PostgresStorage({ url: (await postgresPlace()).server.url, schema: newSchema() }),
}

for (const [driver, open] of Object.entries(storages)) {
  test(`[F40] under load every scrape parses, counters only grow, and the figures equal count(): ${driver}`, async (t) => {
    const storage = await open(t)
    const { handler, clock, suffix, queue, client, tasks, task } = await load(t, storage)
    const mail = { face: 'queue', type: `mail-${suffix}` }
    let before = 0
    for (let n = 0; n < jobs; n++) {
      await queue.enqueue(`m${n}`, n)
      await client.startJobChain({ typeName: 'order', input: n })
      await tasks.enqueueTask(task, n)
      if (n % 20 !== 0) continue
      await clock.advance(5_000)
      const scraped = await scrape(handler)
      const ended = figure(scraped, 'holdfast_jobs_settled_total', mail)
      assert.ok(ended >= before, `${ended} after ${before}`)
      before = ended
      assert.equal(figure(scraped, 'holdfast_jobs_added_total', mail), n + 1)
      assert.equal(figure(scraped, 'holdfast_storage_up'), 1)
    }
    await until(async () => {
      const { types } = await storage.count({})
      return types.every(({ states }) => states.queued + states.scheduled + states.processing + states.failing === 0)
    })
    await clock.advance(5_000)
    const scraped = await scrape(handler)
    const { types } = await storage.count({})
    const labels = labelsOf(scraped)
    // A type of the storage, one of tasks, and those of other tests in this process.
    for (const type of types) assert.ok(labels.get('type')!.has(type.type.slice(type.type.indexOf('.') + 1)), type.type)
    for (const id of ['m0', `m${jobs - 1}`, 'bad address', 'busy']) {
      for (const [name, values] of labels) assert.ok(!values.has(id), `${name} ${id}`)
    }
    assert.equal(types.length, 2, 'the messages of tasks are deleted when they have completed')
    const message = { face: 'task', type: `tasks-${suffix}` }
    assert.equal(figure(scraped, 'holdfast_jobs_added_total', message), jobs)
    assert.equal(figure(scraped, 'holdfast_jobs_settled_total', { ...message, outcome: 'completed' }), jobs)
    for (const { type, states } of types) {
      const [face, name] = [type.slice(0, type.indexOf('.')), type.slice(type.indexOf('.') + 1)]
      const own = { face, type: name }
      for (const [state, count] of Object.entries(states)) {
        assert.equal(figure(scraped, 'holdfast_jobs', { ...own, state }), count, `${type} ${state}`)
      }
      const settled = (outcome: string): number => figure(scraped, 'holdfast_jobs_settled_total', { ...own, outcome })
      assert.equal(figure(scraped, 'holdfast_jobs_added_total', own), jobs, type)
      assert.equal(settled('completed'), states.completed, type)
      assert.equal(settled('failed'), states.failed, type)
      assert.equal(figure(scraped, 'holdfast_job_wait_seconds_count', own), jobs + settled('failing'), type)
      assert.equal(figure(scraped, 'holdfast_job_run_seconds_count', own), jobs + settled('failing'), type)
    }
    assert.equal(figure(scraped, 'holdfast_jobs_settled_total', { ...mail, outcome: 'failing' }), jobs / 5)
    assert.equal(figure(scraped, 'holdfast_jobs', { ...mail, state: 'failed' }), jobs / 10)
    assert.equal(figure(scraped, 'holdfast_workers'), 3)
    assert.ok(figure(scraped, 'holdfast_storage_calls_total', { driver, verb: 'add', ok: 'true' }) > 0)
  })
}

test('[F40] labels are bounded: over 200 types become other, and every other label is of a closed set', async (t) => {
  const storage = new MemoryStorage()
  const handler = prometheus({ storage })
  t.after(() => handler.close())
  const names = Array.from({ length: mostTypes + 40 }, (_, n) => `t${n} "\\\n{}`)
  for (const name of names) {
    const queue = new Queue<number>({ storage, name })
    await queue.enqueue('customer-4711', 1, { group: 'tenant-7', deduplication: { key: 'k-9' } })
    await queue.stop()
  }
  const scraped = await scrape(handler)
  const values = labelsOf(scraped)
  assert.equal(values.get('type')!.size, mostTypes + 1)
  assert.ok(values.get('type')!.has(names[0]!), 'a name is shown as it is')
  assert.equal(figure(scraped, 'holdfast_jobs_added_total', { type: 'other' }), 40)
  assert.equal(figure(scraped, 'holdfast_jobs', { type: 'other', state: 'queued' }), 40)
  assert.equal(figure(scraped, 'holdfast_jobs_due'), names.length)
  const text = [...values.values()].flatMap((set) => [...set]).join('\n')
  for (const secret of ['customer-4711', 'tenant-7', 'k-9']) assert.ok(!text.includes(secret), secret)
})

test('[F40] at most one count per 5 s; a storage that is away is reported, and its last counts are not', async (t) => {
  let counts = 0
  let isAway = false
  class Watched extends MemoryStorage {
    override async count(...args: Parameters<MemoryStorage['count']>) {
      counts++
      if (isAway) throw new Error('away')
      return super.count(...args)
    }
  }
  const storage = new Watched()
  const clock = fakeClock()
  const handler = prometheus({ storage, clock })
  t.after(() => handler.close())
  const queue = new Queue<number>({ storage, name: 'counted' })
  await queue.enqueue('1', 1)
  t.after(() => queue.stop())
  for (let n = 0; n < 20; n++) await scrape(handler)
  await Promise.all(Array.from({ length: 20 }, () => scrape(handler)))
  assert.equal(counts, 1)
  await clock.advance(5_000)
  await Promise.all(Array.from({ length: 20 }, () => scrape(handler)))
  assert.equal(counts, 2)
  isAway = true
  await clock.advance(5_000)
  const scraped = await scrape(handler)
  assert.equal(figure(scraped, 'holdfast_storage_up'), 0)
  assert.equal(scraped.has('holdfast_jobs'), false)
  isAway = false
  await clock.advance(5_000)
  assert.equal(figure(await scrape(handler), 'holdfast_jobs', { type: 'counted', state: 'queued' }), 1)
})

test('[F40] oldest due, paused, schedules, slow-downs and lost answers have figures', async (t) => {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const handler = prometheus({ storage, clock })
  t.after(() => handler.close())
  const suffix = generateId()
  const waiting = new Queue<number>({ storage, clock, name: `waiting-${suffix}` })
  await waiting.enqueue('1', 1)
  await waiting.pause()
  const slowed = new Queue<number>({
    storage,
    clock,
    name: `slowed-${suffix}`,
    schedules: { tick: { everyMs: 60_000, payload: 1 } },
  })
  const told = new Set<string>()
  slowed.execute(({ id }) =>
    told.size === told.add(id).size ? undefined : rateLimited({ retryAfterMs: 1_000, scope: 'type' }),
  )
  t.after(async () => void (await Promise.all([waiting.stop(), slowed.stop({ graceMs: 0 })])))
  await slowed.start()
  await clock.advance(130_000)
  const scraped = await scrape(handler)
  assert.equal(figure(scraped, 'holdfast_jobs_oldest_due_seconds', { type: `waiting-${suffix}` }), 130)
  assert.equal(figure(scraped, 'holdfast_type_paused', { type: `waiting-${suffix}` }), 1)
  assert.equal(figure(scraped, 'holdfast_type_paused', { type: `slowed-${suffix}` }), 0)
  assert.equal(figure(scraped, 'holdfast_type_slowed', { type: `slowed-${suffix}` }), 0)
  const own = { face: 'queue', type: `slowed-${suffix}` }
  const fired = figure(scraped, 'holdfast_schedule_lateness_seconds_count', own)
  assert.ok(fired >= 2, String(fired))
  assert.equal(figure(scraped, 'holdfast_jobs_added_total', own), fired)
  assert.equal(figure(scraped, 'holdfast_jobs_rate_limited_total', { ...own, scope: 'type' }), fired)
  assert.equal(figure(scraped, 'holdfast_jobs_settled_total', { ...own, outcome: 'released' }), fired)
})

test('without a storage there are the metrics of the process; other methods and wrong options are refused', async (t) => {
  const handler = prometheus()
  const scraped = await scrape(handler)
  assert.equal(scraped.has('holdfast_storage_up'), false)
  assert.equal(figure(scraped, 'holdfast_loop_stalls_total'), 0)
  assert.equal((await handler(new Request('http://localhost/', { method: 'POST' }))).status, 405)
  assert.equal(await (await handler(new Request('http://localhost/', { method: 'HEAD' }))).text(), '')
  assert.throws(() => prometheus({ store: 1 } as never), /expected one of storage, clock/)
  // After close() nothing is counted.
  await handler.close()
  const queue = new Queue<number>({ storage: new MemoryStorage(), name: 'after-close' })
  t.after(() => queue.stop())
  await queue.enqueue('1', 1)
  assert.equal(figure(await scrape(handler), 'holdfast_jobs_added_total', { type: 'after-close' }), 0)
})

// ── what is shipped ──────────────────────────────────────────────────────────────────────────────────────────────────

const shipped = (file: string): string => readFileSync(new URL(`../../metrics/${file}`, import.meta.url), 'utf8')

/** Metrics that exist only after something went wrong, with their labels: a scrape of a healthy process does not have them. */
const rare: Readonly<Record<string, readonly string[]>> = {
  holdfast_leases_lost_total: ['face', 'type'],
  holdfast_storage_connections_lost_total: ['driver'],
  holdfast_schedule_lateness_seconds_bucket: ['face', 'type', 'le'],
}

async function knownMetrics(t: TestContext): Promise<Map<string, ReadonlySet<string>>> {
  const { handler, queue } = await load(t, new MemoryStorage())
  await queue.enqueueAndWait('1', 1)
  const known = new Map(Object.entries(rare).map(([name, labels]) => [name, new Set(labels)]))
  for (const { samples } of (await scrape(handler)).values()) {
    for (const { name, labels } of samples) {
      const names = known.get(name) ?? new Set()
      Object.keys(labels).forEach((label) => names.add(label))
      known.set(name, names)
    }
  }
  return known
}

/** Every metric and label of an expression exists. Labels that Prometheus adds are allowed. */
function checkExpression(expression: string, known: ReadonlyMap<string, ReadonlySet<string>>): void {
  const names = [...expression.matchAll(/holdfast_[a-z_]+/g)].map(([name]) => name)
  assert.ok(names.length > 0, expression)
  for (const name of names) assert.ok(known.has(name), `${name} of: ${expression}`)
  const labels = new Set(names.flatMap((name) => [...known.get(name)!]).concat(['job', 'instance']))
  const used = [
    ...[...expression.matchAll(/\b(?:by|without) ?\(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/,\s*/)),
    ...[...expression.matchAll(/\{([^}]*)\}/g)].flatMap(([, list]) =>
      [...list!.matchAll(/([a-z_]+)\s*(?:=|!=|=~|!~)\s*"/g)].map(([, label]) => label!),
    ),
  ]
  for (const label of used) assert.ok(labels.has(label.trim()), `${label} of: ${expression}`)
  const count = (bracket: RegExp): number => expression.match(bracket)?.length ?? 0
  assert.equal(count(/\(/g), count(/\)/g), expression)
}

test('[F40] the Grafana dashboard uses metrics and labels that a scrape has, and every panel has a query', async (t) => {
  const known = await knownMetrics(t)
  const dashboard = JSON.parse(shipped('grafana.json'))
  assert.equal(dashboard.title, 'Holdfast')
  const panels = dashboard.panels.filter(({ type }: { type: string }) => type !== 'row')
  assert.ok(panels.length >= 8)
  assert.equal(new Set(dashboard.panels.map(({ id }: { id: number }) => id)).size, dashboard.panels.length)
  for (const panel of panels) {
    assert.ok(panel.targets.length > 0, panel.title)
    assert.ok(panel.gridPos.x + panel.gridPos.w <= 24, panel.title)
    for (const { expr } of panel.targets) checkExpression(expr, known)
  }
  for (const { query } of dashboard.templating.list) {
    if (typeof query === 'string' && query.includes('holdfast')) checkExpression(query, known)
  }
})

test('[F40] the alert rules use metrics and labels that a scrape has, and each says what to do', async (t) => {
  const known = await knownMetrics(t)
  const { groups } = parse(shipped('alerts.yml'))
  const rules = groups.flatMap((group: { rules: unknown[] }) => group.rules)
  assert.ok(rules.length >= 6)
  for (const rule of rules) {
    checkExpression(rule.expr, known)
    assert.match(rule.alert, /^Holdfast[A-Z][A-Za-z]+$/)
    assert.match(rule.for, /^\d+[smh]$/)
    assert.ok(['warning', 'critical'].includes(rule.labels.severity), rule.alert)
    assert.ok(rule.annotations.summary && rule.annotations.description, rule.alert)
  }
})

test('the page of telemetry lists every metric', () => {
  const page = readFileSync(new URL('../../../../docs/telemetry.md', import.meta.url), 'utf8')
  for (const instrument of [counters, gauges, histograms].flatMap((table) => Object.values(table))) {
    assert.ok(page.includes(`\`${prometheusName(instrument)}\``), instrument.name)
  }
})
