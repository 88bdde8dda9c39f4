// Limits over several processes, some of which are killed: never one run too many, by what the handlers themselves have noted.

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test, type TestContext } from 'node:test'
import { Queue, type QueueConfig } from 'holdfast'
import { isFull, isUsual, sized } from '../full-size.ts'
import { type Child, startChild } from '../processes/child.ts'
import { type Place, type ProcessDriver, processDrivers, stopServers } from '../processes/drivers.ts'
import { sleep, until } from './driver.ts'
import { compileFirst } from './processes.ts'

const file = new URL('fixtures/process.ts', import.meta.url)

before(compileFirst)
after(stopServers)

interface Note {
  readonly what: 'began' | 'ended'
  readonly id: string
  readonly attempt: number
  readonly group?: string
  readonly pid: number
  /** Ns of the machine's monotonic clock. */
  readonly at: string
}

interface Bench {
  readonly queue: Queue<string, string>
  notes(): Note[]
  /** @param more settings of this worker */
  worker(more?: { readonly throwsEvery?: number }): Promise<Child>
}

/** @param config of the queue here and of the workers */
async function bench(t: TestContext, place: Place, config: Partial<QueueConfig<string, string>>): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-limits-'))
  const path = join(folder, 'notes')
  const queue = new Queue<string, string>({ storage: place.storage(), ...config })
  t.after(async () => {
    await queue.stop({ timeout: 0 })
    await place.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    queue,
    notes: () =>
      readFileSync(path, 'utf8')
        .split('\n')
        .flatMap((line) => (line ? [JSON.parse(line) as Note] : [])),
    async worker(more = {}) {
      const child = await startChild(file, t, place, 'limited', { ...config, path, lastsMs: 4, ...more })
      await child.hears((line) => line === 'ready', 'it is ready')
      return child
    },
  }
}

/** The largest number of handlers that ran at the same time. A handler that was killed ended at the last note of its process. */
function mostAtOnce(notes: readonly Note[]): number {
  const lastOf = new Map(notes.map(({ pid, at }) => [pid, BigInt(at)]))
  const open = new Map<string, Note>()
  const edges: [at: bigint, change: 1 | -1][] = []
  const nameOf = ({ pid, id }: Note): string => `${pid} ${id}`
  for (const note of notes) {
    edges.push([BigInt(note.at), note.what === 'began' ? 1 : -1])
    if (note.what === 'began') open.set(nameOf(note), note)
    else open.delete(nameOf(note))
  }
  for (const { pid } of open.values()) edges.push([lastOf.get(pid)!, -1])
  edges.sort(([a, one], [b, other]) => (a === b ? one - other : a < b ? -1 : 1))
  let [running, most] = [0, 0]
  for (const [, change] of edges) {
    running += change
    most = Math.max(most, running)
  }
  return most
}

/** When jobs that ran once began, by the clock of the storage, which decides: a handler begins some time after its claim. */
function startsOf(
  queue: Queue<string, string>,
  jobs: readonly { readonly id: string }[],
): Promise<{ readonly id: string; readonly at: number }[]> {
  return inBatches(jobs, async ({ id }) => ({ id, at: (await queue.get(id))!.startedAt! }))
}

/** A hundred calls at a time: a storage answers thousands of them later than a call may take. */
async function inBatches<T, R>(items: readonly T[], call: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = []
  for (let from = 0; from < items.length; from += 100) {
    answers.push(...(await Promise.all(items.slice(from, from + 100).map(call))))
  }
  return answers
}

/** How long jobs may take to run: a busy machine takes several times as long as an idle one. */
const longMs = sized(900_000, 90_000)

const completed = async (queue: Queue<string, string>): Promise<number> => (await queue.counts()).states.completed

/** Asks rarely: to count thousands of jobs all the time would take the workers' share of the machine. */
async function untilCompleted(queue: Queue<string, string>, count: number): Promise<void> {
  const isReached = async (): Promise<boolean> => {
    if ((await completed(queue)) >= count) return true
    await sleep(isFull ? 250 : 20)
    return false
  }
  await until(isReached, `${count} jobs have completed`, longMs)
}

const [jobs, processes, few] = [sized(10_000, 120), sized(8, 3), sized(4, 2)]
const [groups, members] = [sized(5, 3), sized(20, 6)]

function tests(driver: ProcessDriver): void {
  test(`[F20] [S16] ${driver.name}: ${processes} processes, limit 3, ${jobs} jobs, kill -9: never 4 at once`, async (t) => {
    // A lease that a busy machine can keep: a lost one would let another run begin while the handler goes on.
    const config = { limits: { concurrency: 3 }, concurrency: 5, leaseMs: 10_000, maxAttempts: 1_000 }
    const { queue, notes, worker } = await bench(t, await driver.open(), config)
    await queue.enqueueMany(Array.from({ length: jobs }, (_, n) => ({ id: `j${n}`, payload: '' })))
    const workers = await Promise.all(Array.from({ length: processes }, worker))
    for (let kill = 1; kill <= processes - 2; kill++) {
      await untilCompleted(queue, Math.ceil((jobs * kill) / processes))
      workers[kill]!.signal('SIGKILL')
    }
    await untilCompleted(queue, jobs)
    const most = mostAtOnce(notes())
    assert.ok(most > 1 && most <= 3, `${most} at once`)
  })

  test(`[F21] [S15] ${driver.name}: ${groups} groups of ${members} ordered jobs, 2 processes, every third run throws: strict order, no overlap`, async (t) => {
    const config = {
      concurrency: 10,
      leaseMs: 10_000,
      maxAttempts: 1_000,
      backoff: { type: 'fixed', delayMs: 20 },
    } as const
    const { queue, notes, worker } = await bench(t, await driver.open(), config)
    const keys = Array.from({ length: groups }, (_, index) => `g${index}`)
    const items = Array.from({ length: members }, (_, n) =>
      keys.map((key) => ({ id: `${key} ${n}`, payload: key, group: { key, ordered: true as const } })),
    ).flat()
    await queue.enqueueMany(items)
    await Promise.all([worker({ throwsEvery: 3 }), worker({ throwsEvery: 3 })])
    await untilCompleted(queue, items.length)
    const all = notes()
    for (const key of keys) {
      const ofGroup = all.filter(({ group }) => group === key)
      assert.equal(mostAtOnce(ofGroup), 1)
      const began = ofGroup.flatMap(({ what, id, attempt }) => (what === 'began' ? [{ id, attempt }] : []))
      const ids = items.flatMap(({ id, payload }) => (payload === key ? [id] : []))
      // Each job with all of its attempts, then the next.
      assert.deepEqual(
        began,
        ids.flatMap((id) =>
          Array.from({ length: began.filter((run) => run.id === id).length }, (_, n) => ({ id, attempt: n + 1 })),
        ),
      )
    }
    const runs = all.filter(({ what }) => what === 'began').length
    assert.ok(runs >= items.length + Math.floor(items.length / 3) - 2, `${runs} runs of ${items.length} jobs`)
  })

  test(`[F22] [S16] ${driver.name}: ${few} processes, 20 starts per second: no window has more`, async (t) => {
    const rate = { limit: 20, perMs: 1_000 }
    const config = { limits: { rate }, concurrency: 10, retention: { completed: { ageMs: 600_000 } } }
    const { queue, worker } = await bench(t, await driver.open(), config)
    const ids = Array.from({ length: sized(400, 30) }, (_, n) => `j${n}`)
    await queue.enqueueMany(ids.map((id) => ({ id, payload: '' })))
    await Promise.all(Array.from({ length: few }, worker))
    await untilCompleted(queue, ids.length)
    const items = ids.map((id) => ({ id }))
    const starts = (await startsOf(queue, items)).map(({ at }) => at).toSorted((one, other) => one - other)
    assert.equal(starts.length, ids.length)
    // A figure, not an assertion: on a busy machine workers come late. The rules have a test of the bound, in the storage's time.
    const windows = (starts.at(-1)! - starts[0]!) / rate.perMs
    t.diagnostic(`${Math.round((100 * (ids.length - rate.limit)) / (rate.limit * windows))} % of the rate was used`)
    for (const [index, at] of starts.entries()) {
      const within = starts.filter((other, place) => place >= index && other < at + rate.perMs).length
      assert.ok(within <= rate.limit, `${within} starts within 1 s of ${at}`)
    }
  })
}

/** What a claim of one driver counts, another counts by the same rules, for which each has its cases in the conformance suite. */
function groupTests(driver: ProcessDriver): void {
  test(`[F21] [F24] ${driver.name}: ${few} processes, groups of at most 2: never 3 of a group at once, and all groups go on`, async (t) => {
    const config = { limits: { group: { limit: 2 } }, concurrency: 10, leaseMs: 10_000 }
    const { queue, notes, worker } = await bench(t, await driver.open(), config)
    const keys = ['a', 'b', 'c', 'd']
    // All jobs of a group, before those of the next.
    const items = keys.flatMap((key) =>
      Array.from({ length: jobs / 10 }, (_, n) => ({ id: `${key}${n}`, payload: key, group: key })),
    )
    await queue.enqueueMany(items)
    await Promise.all(Array.from({ length: few }, worker))
    await untilCompleted(queue, items.length)
    const all = notes()
    for (const key of keys) {
      const most = mostAtOnce(all.filter(({ group }) => group === key))
      assert.ok(most > 0 && most <= 2, `${most} of ${key} at once`)
    }
    // The last group begins among the first, not after all jobs of the others.
    const starts = await startsOf(queue, items)
    const firstOf = (key: string): number => Math.min(...starts.flatMap(({ id, at }) => (id.startsWith(key) ? at : [])))
    const others = starts.filter(({ at }) => at < firstOf('d')).length
    assert.ok(others < 20, `the first run of 'd' is behind ${others} others`)
  })

  test(`[F23] ${driver.name}: ${few} processes: after rateLimited() none starts a job of the type or group before its time`, async (t) => {
    const { queue, worker } = await bench(t, await driver.open(), { concurrency: 3, leaseMs: 10_000 })
    const retryAfterMs = 400
    const count = sized(200, 40)
    const items = [
      ...Array.from({ length: count }, (_, n) => ({ id: `a${n}`, payload: 'a', group: 'a' })),
      ...Array.from({ length: count }, (_, n) => ({ id: `b${n}`, payload: 'b', group: 'b' })),
    ]
    await queue.enqueueMany(items)
    await queue.enqueue('slows a', `slow group ${retryAfterMs}`, { group: 'a', priority: 100 })
    await queue.enqueue('slows all', `slow type ${retryAfterMs}`, { group: 'c' })
    await Promise.all(Array.from({ length: few }, () => worker()))
    await untilCompleted(queue, items.length + 2)
    const starts = await startsOf(queue, items)
    // When the slow-down was recorded, by the clock of the storage.
    const slowedAt = async (id: string): Promise<number> => {
      const [first] = (await queue.get(id))!.history
      assert.equal(first!.outcome, 'released')
      return first!.endedAt
    }
    const within = (from: number, group?: string): string[] =>
      starts.flatMap(({ id, at }) => (at > from && at < from + retryAfterMs && id.startsWith(group ?? '') ? [id] : []))
    assert.deepEqual(within(await slowedAt('slows a'), 'a'), [])
    assert.deepEqual(within(await slowedAt('slows all')), [])
  })
}

// At full size, one test at a time has as many processes as the machine can run.
describe('limits over several processes', { concurrency: isFull ? 1 : 2 }, () => {
  for (const name of ['sqlite', 'postgres', 'redis', 'file'] as const) {
    tests(processDrivers[name])
    if (isUsual(name)) groupTests(processDrivers[name])
  }
})
