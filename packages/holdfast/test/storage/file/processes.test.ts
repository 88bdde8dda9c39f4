// Several processes and threads on one directory.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Queue } from 'holdfast'
import { FileStorage } from 'holdfast/file'
import { programOf } from '../../../../../scripts/test-programs.ts'
import { sized } from '../../full-size.ts'
import { viewFolderOf } from './view-folder.ts'

const script = programOf(new URL('fixtures/enqueue.ts', import.meta.url))

async function directoryOf(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-file-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  return directory
}

interface Child {
  readonly process: ChildProcess
  /** Id and status of each acknowledged job. */
  readonly lines: string[]
  readonly ended: Promise<unknown>
}

function enqueueIn(t: TestContext, order: object): Child {
  const child = spawn(process.execPath, ['--conditions=@holdfast/source', script, JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines: string[] = []
  let rest = ''
  child.stdout.on('data', (chunk) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop()!
    lines.push(...parts)
  })
  return { process: child, lines, ended: once(child, 'close') }
}

/** Runs all jobs. Returns their payloads by id, and fails if a job runs twice. */
async function runAll(storage: FileStorage, expected: number): Promise<Map<string, string>> {
  const ran = new Map<string, string>()
  const worker = new Queue<string>({ storage, concurrency: 50 })
  const all = Promise.withResolvers<void>()
  worker.execute(({ id, payload }) => {
    assert.ok(!ran.has(id), `${id} ran twice`)
    ran.set(id, payload)
    if (ran.size === expected) all.resolve()
  })
  await worker.start()
  await all.promise
  await worker.stop()
  return ran
}

/** Processes, and threads of each. */
const crowd = sized(4, 2)

test(`[Q4.06] [trap 40] ${crowd} processes of ${crowd} threads enqueue the same 50 ids: each id is added once, no call rejects, each job runs once`, async (t) => {
  const directory = await directoryOf(t)
  const order = { directory, threads: crowd, prefix: 'Id:', count: 50, inFlight: 50 }
  const children = Array.from({ length: crowd }, () => enqueueIn(t, order))
  for (const child of children) assert.deepEqual(await child.ended, [0, null])
  const lines = children.flatMap((child) => child.lines)
  assert.equal(lines.length, crowd * crowd * 50)
  assert.equal(lines.filter((line) => line.endsWith(' queued')).length, 50)
  assert.equal(new Set(lines.filter((line) => line.endsWith(' queued'))).size, 50)
  // Every file has its own job.
  const storage = new FileStorage({ directory })
  await storage.connect()
  const folder = join(await viewFolderOf(directory, storage), 'queue')
  for (const name of await readdir(folder)) {
    const [head, payload] = (await readFile(join(folder, name), 'utf8')).split('\n')
    assert.equal(payload, JSON.stringify(`payload of ${(JSON.parse(head!) as { id: string }).id}`))
  }
  assert.equal((await readdir(folder)).length, 50)
  const ran = await runAll(storage, 50)
  await storage.disconnect()
  for (const [id, payload] of ran) assert.equal(payload, `payload of ${id}`)
})

test('[trap 46] jobs that two storages enqueue in turns start in that order', async (t) => {
  const directory = await directoryOf(t)
  const handles = [new FileStorage({ directory }), new FileStorage({ directory })]
  const queues = handles.map((storage) => new Queue<string>({ storage }))
  for (let n = 0; n < 20; n++) await queues[n % 2]!.enqueue(`j${n}`, '')
  const started: string[] = []
  const all = Promise.withResolvers<void>()
  queues[0]!.execute(({ id }) => {
    started.push(id)
    if (started.length === 20) all.resolve()
  })
  await queues[0]!.start()
  await all.promise
  assert.deepEqual(
    started,
    Array.from({ length: 20 }, (_, n) => `j${n}`),
  )
  for (const queue of queues) await queue.stop()
})

test('[trap 41] after producers were killed, acknowledged jobs run, and the other ids can be enqueued', async (t) => {
  const directory = await directoryOf(t)
  const acknowledged = new Set<string>()
  for (let round = 0; round < 10; round++) {
    const order = { directory, threads: 1, prefix: `r${round}-`, count: 1e9, inFlight: 7 }
    const child = enqueueIn(t, order)
    while (child.lines.length < 1 + round * 5) await once(child.process.stdout!, 'data')
    child.process.kill('SIGKILL')
    await child.ended
    for (const line of child.lines) acknowledged.add(line.split(' ')[0]!)
  }
  const storage = new FileStorage({ directory })
  await storage.connect()
  const { types } = await storage.count({})
  const stored = types[0]!.states.queued
  assert.ok(stored >= acknowledged.size, `${stored} of ${acknowledged.size}`)
  // An id that was in flight when its process was killed is free, or its job runs.
  const producer = new Queue<string>({ storage })
  for (let round = 0; round < 10; round++) {
    for (let n = 0; n < 100; n++) await producer.enqueue(`r${round}-${n}`, `payload of r${round}-${n}`)
  }
  await producer.stop()
  const again = await storage.count({})
  const ran = await runAll(storage, again.types[0]!.states.queued)
  for (const id of acknowledged) assert.equal(ran.get(id), `payload of ${id}`)
  await storage.disconnect()
})
