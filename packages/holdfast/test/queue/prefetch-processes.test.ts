// Workers that hold jobs ahead and are killed: nothing is lost, a job that never ran does not fail, and one that kills its process
// whenever it runs does.

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test, type TestContext } from 'node:test'
import { Queue, type Storage } from 'holdfast'
import { defaultType } from 'holdfast/storage'
import { isFull, sized } from '../full-size.ts'
import { type Child, startChild } from '../processes/child.ts'
import { type Place, type ProcessDriver, processDrivers, stopServers } from '../processes/drivers.ts'
import { until } from './driver.ts'
import { compileFirst } from './processes.ts'

const file = new URL('fixtures/process.ts', import.meta.url)
const { sqlite, redis, postgres, file: files } = processDrivers
const drivers = isFull ? [sqlite, redis, postgres, files] : [sqlite, redis]

before(compileFirst)
after(stopServers)

const slots = 4

/** Longer than the lease of a job that is held ahead, and short enough to wait for its end. */
const leaseMs = 2_500

describe('jobs that are held ahead, over several processes', { concurrency: 2 }, () => {
  for (const driver of drivers) {
    test(`[P1] [S1] ${driver.name}: kill -9 with jobs held ahead: none is lost, and none fails because it was held`, (t) =>
      killAgainAndAgain(t, driver))
    test(`[P2] [L2] ${driver.name}: a job that kills its process fails after its attempts, and the others run`, (t) =>
      killedByJob(t, driver))
    test(`[P4] ${driver.name}: handlers of 1 ms and of 2 s in four processes: no job starts later than without prefetch`, (t) =>
      mixedHandlers(t, driver))
  }
})

async function opened(
  t: TestContext,
  { open }: ProcessDriver,
  maxAttempts: number,
): Promise<{ place: Place; storage: Storage; queue: Queue<string, string> }> {
  const place = await open()
  const storage = place.storage()
  const queue = new Queue<string, string>({ storage, maxAttempts, leaseMs })
  t.after(async () => {
    await queue.stop({ timeout: 0 })
    await place.close()
  })
  await queue.start()
  return { place, storage, queue }
}

async function startWorker(t: TestContext, place: Place, scene: string, settings: object): Promise<Child> {
  const child = await startChild(file, t, place, scene, { leaseMs, concurrency: slots, ...settings })
  await child.hears((line) => line === 'ready', 'it is ready')
  return child
}

interface Began {
  readonly id: string
  readonly at: number
}

/** The runs that began, by the notes of the handlers. */
function beganIn(path: string): Began[] {
  // What stands behind the last line break is being written.
  const lines = readFileSync(path, { encoding: 'utf8', flag: 'a+' }).split('\n').slice(0, -1)
  return lines.filter((line) => line.includes('"began"')).map((line) => JSON.parse(line) as Began)
}

/** How often each job began. */
function runsOf(path: string): Map<string, number> {
  const runs = new Map<string, number>()
  for (const { id } of beganIn(path)) runs.set(id, (runs.get(id) ?? 0) + 1)
  return runs
}

function newNotes(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-prefetch-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'notes')
}

/** One of 50 takes 2 s: of 400 as many as there are slots. The others take a millisecond. */
const lasts = (n: number): string => ((n * 7) % 50 === 3 ? '2000' : '1')

/** Four processes of two slots each. When each job began, in ms after the add of all, in the order of these instants. */
async function startsOf(t: TestContext, driver: ProcessDriver, prefetchMs: number | false): Promise<number[]> {
  const { place, queue } = await opened(t, driver, 3)
  const path = newNotes(t)
  const workers = await Promise.all(
    Array.from({ length: 4 }, () => startWorker(t, place, 'mixed', { concurrency: 2, prefetchMs, path })),
  )
  const addedAt = Date.now()
  await queue.enqueueMany(Array.from({ length: 400 }, (_, n) => ({ id: `job-${n}`, payload: lasts(n) })))
  await until(() => runsOf(path).size === 400, 'all jobs have begun', 60_000)
  for (const worker of workers) worker.signal('SIGKILL')
  const first = new Map<string, number>()
  for (const { id, at } of beganIn(path)) first.set(id, Math.min(first.get(id) ?? Infinity, at - addedAt))
  return [...first.values()].toSorted((a, b) => a - b)
}

/** The 201st, 361st and 400th. */
const some = (starts: readonly number[]): string => [200, 360, 399].map((n) => starts[n]).join(', ')

/** The n-th start of each run is compared, not the jobs: which of four processes claims a job first differs from run to run. */
async function mixedHandlers(t: TestContext, driver: ProcessDriver): Promise<void> {
  const runs = sized(3, 1)
  const later: number[] = []
  for (let run = 0; run < runs; run++) {
    const without = await startsOf(t, driver, false)
    const ahead = await startsOf(t, driver, 20)
    const most = Math.max(...ahead.map((at, n) => at - without[n]!))
    later.push(most)
    t.diagnostic(
      `the 201st, 361st and 400th start after ${some(ahead)} ms, without prefetch ${some(without)} ms; ${most} ms later at most`,
    )
  }
  // A job that waits behind a long handler starts two seconds later. What a busy machine takes is not held against it.
  assert.ok(Math.min(...later) < 1_000, `${later.join(', ')} ms later`)
}

async function killAgainAndAgain(t: TestContext, driver: ProcessDriver): Promise<void> {
  const [jobs, kills] = [sized(4_000, 600), sized(20, 4)]
  // With one attempt, every loss that counts fails a job.
  const { place, storage, queue } = await opened(t, driver, 1)
  const path = newNotes(t)
  await queue.enqueueMany(Array.from({ length: jobs }, (_, index) => ({ id: `job-${index}`, payload: '' })))
  for (let kill = 1; kill <= kills; kill++) {
    const worker = await startWorker(t, place, 'limited', { maxAttempts: 1, path, lastsMs: 0 })
    const enough = Math.floor((jobs * kill) / (kills + 1))
    await until(() => runsOf(path).size >= enough, `${enough} jobs have begun`, 60_000)
    worker.signal('SIGKILL')
    await worker.exited
  }
  await startWorker(t, place, 'limited', { maxAttempts: 1, path, lastsMs: 0 })
  const ended = async (): Promise<boolean> => {
    const { completed, failed } = (await queue.counts()).states
    return completed + failed === jobs
  }
  await until(ended, 'all jobs have ended', 60_000)
  const runs = runsOf(path)
  const { items: failed } = await queue.list({ states: ['failed'], limit: 1_000 })
  // A job that was claimed for a free slot may be lost with its worker before its handler begins: that costs its attempt. The loss of
  // a lease ahead does not.
  const unrun = failed.filter(({ id }) => !runs.has(id)).map(({ id }) => ({ type: defaultType, id }))
  const records = await storage.get(unrun, { parts: ['attempts'] })
  for (const record of records)
    assert.doesNotMatch(record!.attempts!.at(-1)!.worker, /\+ahead$/, `${record!.id} never ran`)
  assert.ok(unrun.length <= slots * kills, `${unrun.length} jobs failed that never ran`)
  assert.equal(runs.size + unrun.length, jobs)
  // Once ahead without a count, once for a free slot.
  for (const [id, count] of runs) assert.ok(count <= 2, `${id} ran ${count} times`)
  const repeated = [...runs.values()].filter((count) => count > 1).length
  t.diagnostic(`${kills} kills: ${repeated} of ${jobs} jobs ran twice, ${failed.length} failed in their run`)
}

/** A hundred jobs that run at once. */
const around = (name: string): { id: string; payload: string }[] =>
  Array.from({ length: 100 }, (_, index) => ({ id: `${name}-${index}`, payload: '' }))

async function killedByJob(t: TestContext, driver: ProcessDriver): Promise<void> {
  const maxAttempts = 2
  const { place, queue } = await opened(t, driver, maxAttempts)
  await queue.enqueueMany([...around('before'), { id: 'deadly', payload: 'die' }, ...around('after')])
  // With one slot, no other job runs while it does.
  let began = 0
  for (let isOver = false; !isOver;) {
    // It may end before it says that it is ready: its first job may be the deadly one.
    const worker = await startChild(file, t, place, 'work', { leaseMs, maxAttempts, concurrency: 1 })
    const state = async (): Promise<string | undefined> => (await queue.get('deadly'))?.state
    let isDead = false
    void worker.exited.then(() => (isDead = true))
    await until(async () => isDead || (await state()) === 'failed', 'the job has killed the process, or failed', 90_000)
    isOver = !isDead
    began += worker.said.filter((line) => (line as { began?: string }).began === 'deadly').length
    assert.ok(began <= maxAttempts + 1, `it ran ${began} times`)
  }
  assert.ok(began >= maxAttempts, `it ran ${began} times`)
  await until(async () => (await queue.counts()).states.completed === 200, 'the others have run', 60_000)
}
