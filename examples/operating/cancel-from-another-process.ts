// Cancels jobs that another process runs: politely, with a reason and a wait for the end, or by force.

import { fork } from 'node:child_process'
import { on, once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Queue } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'

const [role, file = ''] = process.argv.slice(2)
await (role === 'worker' ? work(file) : cancelJobs())

/** The other process: two handlers that never end by themselves, one of which listens to its signal. */
async function work(path: string): Promise<void> {
  const queue = new Queue<boolean>({ storage: new SqliteStorage({ path }), name: 'video', concurrency: 2 })
  queue.execute(async ({ id, payload: listens, signal }) => {
    process.send!(id)
    await new Promise((_, reject) => listens && signal.addEventListener('abort', () => reject(signal.reason!)))
  })
  await queue.start()
  process.once('message', () => void queue.stop({ graceMs: 0 }).then(() => process.disconnect()))
}

async function cancelJobs(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'))
  const path = join(folder, 'jobs.db')
  const queue = new Queue<boolean>({ storage: new SqliteStorage({ path }), name: 'video' })
  await queue.enqueueMany([
    { id: 'listens', payload: true },
    { id: 'does not', payload: false },
    { id: 'waits', payload: true, delayMs: 60_000 },
  ])
  const worker = fork(import.meta.filename, ['worker', path])
  const running = new Set<unknown>()
  for await (const [id] of on(worker, 'message')) if (running.add(id).size === 2) break

  console.log(await queue.cancel('waits')) // a waiting job is cancelled at once
  console.log(await queue.cancel('listens')) // a running one is left alone, unless asked
  console.log(await queue.cancel('listens', { abort: true, reason: 'wrong file', waitMs: 30_000 }))
  console.log((await queue.get('listens'))?.cancelReason)
  console.log(await queue.cancel('does not', { abort: true, waitMs: 50 })) // it did not end in time
  console.log(await queue.cancel('does not', { force: true })) // ends at once; what the handler does is dropped

  worker.send('stop')
  await once(worker, 'exit')
  await queue.stop()
  await rm(folder, { recursive: true })
}
