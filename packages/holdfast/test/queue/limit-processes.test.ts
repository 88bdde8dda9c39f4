// Limits over several processes, some of which are killed: never one run too many, by what the handlers themselves have noted.

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test, type TestContext } from 'node:test'
import { Queue, type QueueConfig } from 'holdfast'
import { sized } from '../full-size.ts'
import { type Child, startChild } from '../processes/child.ts'
import { type Place, type ProcessDriver, processDrivers, stopServers } from '../processes/drivers.ts'
import { until } from './driver.ts'
import { compileFirst } from './processes.ts'

const file = new URL('fixtures/process.ts', import.meta.url)

before(compileFirst)
after(stopServers)

interface Note {
  readonly what: 'began' | 'ended'
  readonly id: string
  readonly group?: string
  readonly pid: number
  /** Ns of the machine's monotonic clock. */
  readonly at: string
}

interface Bench {
  readonly queue: Queue<string, string>
  notes(): Note[]
  worker(): Promise<Child>
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
    async worker() {
      const child = await startChild(file, t, place, 'limited', { ...config, path, lastsMs: 4 })
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
  return Promise.all(jobs.map(async ({ id }) => ({ id, at: (await queue.get(id))!.startedAt! })))
}

const [jobs, processes, few] = [sized(10_000, 120), sized(8, 3), sized(4, 2)]

function tests(driver: ProcessDriver): void {
  test(`[F20] [S16] ${driver.name}: ${processes} processes, limit 3, ${jobs} jobs, kill -9: never 4 at once`, async (t) => {
    // A lease that a busy machine can keep: a lost one would let another run begin while the handler goes on.
    const config = { limits: { concurrency: 3 }, concurrency: 5, leaseMs: 10_000, maxAttempts: 1_000 }
    const { queue, notes, worker } = await bench(t, await driver.open(), config)
    await queue.enqueueMany(Array.from({ length: jobs }, (_, n) => ({ id: `j${n}`, payload: '' })))
    const workers = await Promise.all(Array.from({ length: processes }, worker))
    for (let kill = 1; kill <= processes - 2; kill++) {
      await until(async () => (await queue.counts()).states.completed > (jobs * kill) / processes, 'jobs run', 60_000)
      workers[kill]!.signal('SIGKILL')
    }
    await until(async () => (await queue.counts()).states.completed === jobs, 'all jobs ran', sized(600_000, 90_000))
    const most = mostAtOnce(notes())
    assert.ok(most > 1 && most <= 3, `${most} at once`)
  })

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
    await until(
      async () => (await queue.counts()).states.completed === items.length,
      'all jobs ran',
      sized(600_000, 90_000),
    )
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

  test(`[F22] [S16] ${driver.name}: ${few} processes, 20 starts per second: no window has more`, async (t) => {
    const rate = { limit: 20, perMs: 1_000 }
    const config = { limits: { rate }, concurrency: 10, retention: { completed: { ageMs: 600_000 } } }
    const { queue, worker } = await bench(t, await driver.open(), config)
    const ids = Array.from({ length: sized(400, 30) }, (_, n) => `j${n}`)
    await queue.enqueueMany(ids.map((id) => ({ id, payload: '' })))
    await Promise.all(Array.from({ length: few }, worker))
    await until(async () => (await queue.counts()).states.completed === ids.length, 'all jobs ran', 90_000)
    const starts = (
      await startsOf(
        queue,
        ids.map((id) => ({ id })),
      )
    )
      .map(({ at }) => at)
      .toSorted((one, other) => one - other)
    assert.equal(starts.length, ids.length)
    for (const [index, at] of starts.entries()) {
      const within = starts.filter((other, place) => place >= index && other < at + rate.perMs).length
      assert.ok(within <= rate.limit, `${within} starts within 1 s of ${at}`)
    }
  })
}

describe('limits over several processes', { concurrency: 2 }, () => {
  for (const name of ['sqlite', 'postgres', 'redis', 'file'] as const) tests(processDrivers[name])
})
