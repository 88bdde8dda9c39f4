// A handler that cannot do its work yet puts it off. That costs no attempt, and may be limited.

import { JobFailedError, MemoryStorage, Queue, snooze } from 'holdfast'

const queue = new Queue<{ opensAfter: number }, string>({
  storage: new MemoryStorage(),
  name: 'orders',
  maxAttempts: 1,
  maxSnoozes: 3,
})
const visits = new Map<string, number>()
queue.execute(({ id, payload, attempts }) => {
  const visit = (visits.get(id) ?? 0) + 1
  visits.set(id, visit)
  // Or { runAt: new Date(…) }. `throw snooze(…)` does the same.
  if (visit <= payload.opensAfter) return snooze({ delayMs: 5, cause: new Error('the shop is closed') })
  return `ordered at visit ${visit}, attempt ${attempts}`
})
await queue.start()

console.log(await queue.enqueueAndWait('order-1', { opensAfter: 2 }))
const job = await queue.get('order-1')
console.log(`${job?.snoozes} snoozes: ${job?.history.map(({ outcome }) => outcome).join(', ')}`)

// One snooze more than maxSnoozes fails the job.
await queue.enqueueAndWait('order-2', { opensAfter: 100 }).catch((error: unknown) => {
  if (error instanceof JobFailedError) console.log(error.details.code)
})
await queue.stop()
