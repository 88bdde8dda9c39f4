// Several processes on one file: deduplication, the order of jobs, and hints between processes.

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Queue } from 'holdfast'
import { type Bench, bench, type Child, newJob, types } from './bench.ts'

/** Far below the fallback poll of 30 s, far above the time of a hint. */
const promptMs = 8_000

async function promptly<T>(what: Promise<T>): Promise<T> {
  const began = performance.now()
  const answer = await what
  const took = performance.now() - began
  assert.ok(took < promptMs, `${took} ms`)
  return answer
}

const inboxes = ({ path }: Bench): string[] => readdirSync(`${path}-hints`)

async function started(child: Child): Promise<Child> {
  assert.equal(await child.next(), 'ready')
  return child
}

test('[Q4.06] [trap 40] four processes add the same 50 ids at once: each id is added once, no call rejects', async (t) => {
  const { spawn, open } = bench(t)
  const storage = await open()
  const racers = await Promise.all(Array.from({ length: 4 }, () => started(spawn('race', '50'))))
  for (const racer of racers) racer.send()
  const verdicts = await Promise.all(racers.map((racer) => racer.next<string[]>()))
  for (let id = 0; id < 50; id++) {
    assert.deepEqual(verdicts.map((list) => list[id]).toSorted(), ['added', 'duplicate', 'duplicate', 'duplicate'])
  }
  const { jobs } = await storage.claim({ worker: 'w', slots: 300, types })
  assert.equal(new Set(jobs.map(({ id }) => id)).size, 50)
  assert.equal(jobs.length, 50)
})

test('[trap 46] two processes add in turns: the jobs start in that order', async (t) => {
  const { spawn, open } = bench(t)
  const storage = await open()
  const producers = await Promise.all([started(spawn('produce')), started(spawn('produce'))])
  const ids = Array.from({ length: 20 }, (_, number) => `job-${number}`)
  for (const [number, id] of ids.entries()) {
    const producer = producers[number % 2]!
    producer.send(`enqueue ${id}`)
    await producer.next()
  }
  const { jobs } = await storage.claim({ worker: 'w', slots: 30, types })
  assert.deepEqual(
    jobs.map(({ id }) => id),
    ids,
  )
})

test('[Q4.20] a job wakes an idle worker of another process, a cancel aborts its handler, and its end resolves a wait', async (t) => {
  const { spawn, open } = bench(t)
  const storage = await open()
  const queue = new Queue<string, string>({ storage })
  t.after(() => queue.stop())
  await queue.start()
  const worker = await started(spawn('work'))
  const done = queue.enqueueAndWait('a', 'x', { timeout: 60_000 })
  assert.deepEqual(await promptly(worker.next()), { started: 'a' })
  assert.equal(await promptly(done), 'a')
  const gone = assert.rejects(queue.enqueueAndWait('long', 'x', { timeout: 60_000 }), { code: 'JOB_CANCELLED' })
  assert.deepEqual(await promptly(worker.next()), { started: 'long' })
  await queue.cancel('long', { abort: true })
  assert.deepEqual(await promptly(worker.next()), { aborted: 'long' })
  await promptly(gone)
})

test('the inbox of a killed process is removed by the next sender, and a process that stops removes its own', async (t) => {
  const all = bench(t)
  const storage = await all.open()
  const [killed, stopped] = await Promise.all([started(all.spawn('listen')), started(all.spawn('work'))])
  assert.equal(inboxes(all).length, 2)
  await killed.kill()
  stopped.send()
  assert.equal(await stopped.ended, 0)
  assert.equal(inboxes(all).length, 1)
  // The next sender of a hint finds that the owner has ended.
  await storage.add([newJob('a')])
  assert.deepEqual(inboxes(all), [])
})

test('other files in the directory of inboxes are left alone, and do no harm', async (t) => {
  const all = bench(t)
  const storage = await all.open()
  const worker = await started(all.spawn('work'))
  const directory = `${all.path}-hints`
  writeFileSync(join(directory, 'README'), 'hello')
  mkdirSync(join(directory, 'folder'))
  await storage.add([newJob('a')])
  assert.deepEqual(await promptly(worker.next()), { started: 'a' })
  assert.ok(inboxes(all).includes('README'))
})

test('a worker whose inbox was deleted, and then the whole directory, still gets hints of the next jobs', async (t) => {
  const all = bench(t)
  const storage = await all.open()
  const worker = await started(all.spawn('work'))
  const directory = `${all.path}-hints`
  let number = 0
  for (const path of [join(directory, inboxes(all)[0]!), directory]) {
    rmSync(path, { recursive: true })
    const deadline = performance.now() + promptMs
    const exists = (): boolean => {
      try {
        return inboxes(all).length === 1
      } catch {
        return false
      }
    }
    while (!exists()) {
      assert.ok(performance.now() < deadline, 'there is no new inbox')
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    for (let round = 0; round < 3; round++) {
      const id = `after-${number++}`
      await storage.add([newJob(id)])
      assert.deepEqual(await promptly(worker.next()), { started: id })
    }
  }
})

test('the inbox of a listener that was blocked for long does not grow without end, and the listener gets hints again', async (t) => {
  const all = bench(t)
  const storage = await all.open({ durability: 'relaxed' })
  const worker = await started(all.spawn('work'))
  process.kill(worker.pid, 'SIGSTOP')
  const before = inboxes(all)
  const name = 'x'.repeat(500)
  for (let round = 0; round < 8; round++) {
    const ids = Array.from({ length: 190 }, (_, index) => `${name}-${round}-${index}`)
    await storage.add(ids.map((id) => newJob(id, { type: 'other' })))
    await storage.cancel(ids.map((id) => ({ type: 'other', id })))
  }
  assert.deepEqual(inboxes(all), [])
  process.kill(worker.pid, 'SIGCONT')
  await storage.add([newJob('a')])
  assert.deepEqual(await promptly(worker.next()), { started: 'a' })
  assert.deepEqual(inboxes(all), before)
  await storage.add([newJob('b')])
  assert.deepEqual(await promptly(worker.next()), { started: 'b' })
})
