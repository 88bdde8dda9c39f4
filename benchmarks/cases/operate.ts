// operate: what an operator does with many records: pages of lists, counts, and a retry of all failed jobs. Measured through
// createAdmin(), as a dashboard or a command line uses it.

import { type Admin, createAdmin, type Storage } from 'holdfast'
import type { Case, Measure, Variant } from '../case.ts'
import type { Contender } from '../contender.ts'
import { fill } from '../fill.ts'
import { PeakHeap } from '../peak-heap.ts'
import { type Limits, startClock } from '../load.ts'
import { newPlace } from '../place.ts'
import { median } from '../statistics.ts'

const few = 1_000
const defaultRecords = 1_000_000
/** The file driver keeps a file per job. */
const mostFiles = 50_000
const pageSize = 50
/** A page is read this often, or as often as time allows. */
const [repeats, repeatMs] = [50, 2_000]
const baseline = '1k records'

export const operate: Case = {
  name: 'operate',
  isOptIn: true,
  about:
    'Lists, counts and a bulk retry through createAdmin(). Records: 45 % completed, 45 % failed, 5 % queued, 5 % scheduled; two ' +
    'types; a search field of 3 values, and a second one for a fifth of the records. Ratios are to 1,000 records, and to the retry of 10,000. Heap: the most that is in use during ' +
    'the retry after a full collection, above what was in use before it.',
  variants: [
    reading(baseline, () => few),
    { ...reading('many records', ({ records = defaultRecords }) => records), baseline },
    retrying('retry 10k failed', 10_000),
    { ...retrying('retry 100k failed', 100_000), baseline: 'retry 10k failed' },
  ],
}

function reading(name: string, recordsOf: (limits: Limits) => number): Variant {
  return variant(name, async (storage, admin, limits) => {
    const records = Math.min(recordsOf(limits), storage.driver === 'file' ? mostFiles : Infinity)
    const part = (share: number): number => Math.round(records * share)
    await fill(storage, { completed: part(0.45), failed: part(0.45), queued: part(0.05), scheduled: part(0.05) })
    return read(admin, records)
  })
}

async function read(admin: Admin, records: number): Promise<readonly Measure[]> {
  const mail = { face: 'queue', name: 'mail' } as const
  const note = `${records.toLocaleString('en')} records`
  const measures: Measure[] = []
  const page = async (name: string, query: NonNullable<Parameters<Admin['jobs']['list']>[0]>): Promise<void> => {
    const { value, last } = await timed(() => admin.jobs.list({ ...query, limit: pageSize }))
    // A page has a bound on what it reads: it may be empty, and say where the next one begins.
    const isEmpty = last.items.length === 0
    if (isEmpty && last.nextCursor === undefined) throw new Error(`${name}: the page is empty`)
    const remark = isEmpty ? ', empty, with a cursor' : last.truncated ? ', truncated' : ''
    measures.push({ name, unit: 'ms', value, note: note + remark })
  }
  await page('page, no filter', {})
  await page('page, state', { states: ['failed'] })
  await page('page, type', mail)
  await page('page, type and state', { ...mail, states: ['failed'] })
  await page('page, search', { where: { region: 'r-1' } })
  await page('page, search and state', { ...mail, states: ['failed'], where: { region: 'r-1' } })
  await page('page, two search fields', { where: { region: 'r-1', total: { gte: 100 } } })
  await page('page in the middle', { states: ['failed'], cursor: await cursorAt(admin, records * 0.2) })
  await page('page by creation', { order: 'desc' })
  await page('page by creation, state', { states: ['failed'], order: 'desc' })
  const counts = await timed(() => admin.types())
  const counted = counts.last.reduce((sum, { states }) => Object.values(states).reduce((all, one) => all + one, sum), 0)
  if (counted !== records) throw new Error(`${counted} of ${records} records were counted`)
  return [...measures, { name: 'counts', unit: 'ms', value: counts.value, note }]
}

/** The cursor behind so many failed jobs. */
async function cursorAt(admin: Admin, count: number): Promise<string | undefined> {
  let cursor: string | undefined
  for (let seen = 0; seen < count;) {
    const { items, nextCursor } = await admin.jobs.list({ states: ['failed'], limit: 1_000, cursor })
    if (nextCursor === undefined) break
    seen += items.length
    cursor = nextCursor
  }
  return cursor
}

/** Median in ms, without the first call, which compiles and connects. */
async function timed<T>(call: () => Promise<T>): Promise<{ value: number; last: T }> {
  let last = await call()
  const samples: number[] = []
  const deadline = performance.now() + repeatMs
  do {
    const begun = performance.now()
    last = await call()
    samples.push(performance.now() - begun)
  } while (samples.length < repeats && performance.now() < deadline)
  return { value: median(samples), last }
}

/** Retries failed jobs, stops in the middle, and retries the rest. */
function retrying(name: string, count: number): Variant {
  return variant(name, async (storage, admin) => {
    await fill(storage, { completed: 0, failed: count, queued: 0, scheduled: 0 })
    const heap = await PeakHeap.start()
    const clock = startClock()
    const first = admin.bulk.retry({}, { onProgress: () => heap.sample() })
    for await (const { done } of first) if (done >= count / 2) void first.stop()
    const stopped = await first.result
    const rest = await admin.bulk.retry({}, { onProgress: () => heap.sample() }).result
    const { ms, cpuMs } = clock(count)
    const [retried, isStopped] = [stopped.done + rest.done, stopped.stopped && stopped.done < count]
    if (!isStopped || retried !== count) throw new Error(`${retried} of ${count} jobs were retried`)
    const note = `stopped after ${stopped.done}, then ${rest.done}`
    return [
      { name: 'retry', unit: 'jobs/s', value: (count * 1_000) / (ms - heap.tookMs), note },
      { name: 'CPU', unit: 'µs CPU/job', value: ((cpuMs - heap.tookCpuMs) * 1_000) / count },
      { name: 'peak heap', unit: 'MB', value: heap.peakBytes / 1e6 },
    ]
  })
}

function variant(
  name: string,
  run: (storage: Storage, admin: Admin, limits: Limits) => Promise<readonly Measure[]>,
): Variant {
  return {
    name,
    execArgv: ['--max-old-space-size=8192'],
    fillSeconds: 900,
    run: async (contender: Contender, limits) => {
      // Reads do not depend on the durability of writes: one contender per driver is enough.
      const storage = contender.name === 'holdfast' ? await contender.openStorage?.(newPlace()) : undefined
      if (!storage) return undefined
      await storage.connect()
      const admin = createAdmin({ storage })
      const measures = await run(storage, admin, limits)
      await admin.close()
      await storage.disconnect()
      return measures
    },
  }
}
