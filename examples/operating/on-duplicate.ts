// What happens to a second job with the same id: the first stays, or is replaced while it waits, or the call rejects.

import { DuplicateJobError, MemoryStorage, Queue } from 'holdfast'

const queue = new Queue<string>({ storage: new MemoryStorage(), name: 'reports' })
const later = { delayMs: 3_600_000 }

console.log(await queue.enqueue('report', 'May', later))
// 'return' is the default: the answer has the id and the state of the job that is there.
const { status } = await queue.enqueue('report', 'June', later)
console.log(status, (await queue.get('report'))?.payload)
// 'replace': a waiting job gets the new payload and options. One that runs stays, and the answer is 'duplicate'.
console.log(await queue.enqueue('report', 'June', { ...later, priority: 5, onDuplicate: 'replace' }))
const job = await queue.get('report')
console.log(job?.payload, job?.priority)
// 'reject': the call fails, with what is known of the other job.
await queue.enqueue('report', 'July', { onDuplicate: 'reject' }).catch((error: unknown) => {
  if (error instanceof DuplicateJobError) console.log(error.code, error.jobId, error.state)
})
await queue.stop()
