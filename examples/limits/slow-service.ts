// Calls a service that allows 3 calls a second, and that sometimes asks for a pause. Two workers keep to it together, on a fake clock.

import { MemoryStorage, Queue, rateLimited } from 'holdfast'
import { fakeClock } from 'holdfast/testing'

const clock = fakeClock()
const storage = new MemoryStorage({ clock })
const began = clock.now()
const seconds = (): string => `${(clock.now() - began) / 1_000} s`

/** Answers with status 429 once, in the middle. */
let calls = 0
const service = (): { readonly status: number; readonly retryAfterMs: number } => {
  calls++
  return calls === 5 ? { status: 429, retryAfterMs: 10_000 } : { status: 200, retryAfterMs: 0 }
}

const limits = { rate: { limit: 3, perMs: 1_000 } }
const workers = [1, 2].map(
  (number) =>
    new Queue<string>({ storage, clock, name: 'calls', workerId: `worker ${number}`, concurrency: 5, limits }),
)
for (const queue of workers) {
  queue.execute(({ payload }) => {
    const { status, retryAfterMs } = service()
    if (status === 429) throw rateLimited({ retryAfterMs }) // costs no attempt; no worker starts a call before
    console.log(`${seconds()}: ${payload}`)
  })
  queue.on('rate_limited', (id, retryAfterMs) => console.log(`${seconds()}: ${id} was told to wait ${retryAfterMs} ms`))
  await queue.start()
}

const [queue] = workers
await queue!.enqueueMany(Array.from({ length: 8 }, (_, n) => ({ id: `c${n}`, payload: `call ${n}` })))
await clock.advance(4_000)
const { use } = await queue!.limits()
console.log(`${use.waiting} wait until ${(use.slowedUntil! - began) / 1_000} s`)
await clock.advance(60_000)
for (const worker of workers) await worker.stop()
