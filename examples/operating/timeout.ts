// A run has a time limit. At its end the signal aborts, the run counts as failed, and its slot is free.

import { JobFailedError, MemoryStorage, Queue } from 'holdfast'

const queue = new Queue<string, string>({
  storage: new MemoryStorage(),
  name: 'render',
  timeoutMs: 60_000, // of every job
  maxAttempts: 2,
  backoff: 'none',
})
queue.execute(async ({ id, payload, attempts, signal }) => {
  if (payload === 'a small page' || attempts > 1) return `rendered ${payload} in attempt ${attempts}`
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  console.log(`${id}: ${signal.reason?.code}`)
  return 'too late: this result is dropped'
})
await queue.start()

console.log(await queue.enqueueAndWait('page-1', 'a small page'))
console.log(await queue.enqueueAndWait('page-2', 'a large page', { timeoutMs: 100 })) // of this job
await queue
  .enqueueAndWait('page-3', 'a larger page', { timeoutMs: 100, maxAttempts: 1 })
  .catch((error: JobFailedError) => console.log(`page-3 failed: ${error.details.code}`))
console.log((await queue.get('page-2'))?.history.map(({ attempt, outcome }) => `${attempt}: ${outcome}`))
await queue.stop()
