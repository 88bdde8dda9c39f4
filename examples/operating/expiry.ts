// A job that was not started in time is cancelled instead of run: an offer that has ended, a price of yesterday.

import { setTimeout as pause } from 'node:timers/promises'
import { JobCancelledError, MemoryStorage, Queue } from 'holdfast'

const queue = new Queue<string, string>({ storage: new MemoryStorage(), name: 'offers' })
queue.execute(({ payload }) => `sent '${payload}'`)

await queue.enqueue('offer-1', 'today only', { expiresInMs: 10 })
await queue.enqueue('offer-2', 'any day', { expiresInMs: 3_600_000 })
const answers = Promise.allSettled([
  queue.enqueueAndWait('offer-1', 'today only'),
  queue.enqueueAndWait('offer-2', 'any day'),
])
await pause(50) // no worker runs meanwhile
await queue.start()

for (const answer of await answers) {
  if (answer.status === 'fulfilled') console.log(answer.value)
  else if (answer.reason instanceof JobCancelledError) console.log(answer.reason.jobId, answer.reason.reason)
}
const job = await queue.get('offer-1')
console.log(`${job?.state}, reason ${job?.reason}, ${job?.attempts} attempts`)
await queue.stop()
