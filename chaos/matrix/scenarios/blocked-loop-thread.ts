// The worker that blocks: see blocked-loop.ts.

import { parentPort, workerData } from 'node:worker_threads'
import { Queue } from 'holdfast'
import { driverNamed } from '../../drivers.ts'

const { driver, directory, url, leaseMs, blockMs } = workerData as {
  driver: string
  directory: string
  url?: string
  leaseMs: number
  blockMs: number
}
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
const tell = (what: string, id: string): void => parentPort!.postMessage({ what, id })
const storage = await driverNamed(driver).open(directory, url)
const queue = new Queue<unknown, number>({
  storage,
  name: 'matrix',
  workerId: 'blocking',
  concurrency: 1,
  leaseMs,
  maxAttempts: 50,
})
queue.on('error', () => {})
queue.on('completed', (id) => tell('completed', id))
queue.execute(({ id }) => {
  tell('blocked', id)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs)
  return 0
})
await queue.start()
parentPort!.once('message', () => void queue.stop({ timeout: 2_000 }).then(() => process.exit(0)))
