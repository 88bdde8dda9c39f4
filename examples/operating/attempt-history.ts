// The last runs of a job: which worker, from when to when, how it ended, and the error.

import { MemoryStorage, Queue } from 'holdfast'

const queue = new Queue<string, string>({
  storage: new MemoryStorage(),
  name: 'charge',
  workerId: 'worker-1',
  maxAttempts: 5,
  backoff: 'none',
})
const errors = [new Error('connect ETIMEDOUT'), new TypeError('answer is not JSON')]
queue.execute(({ payload }) => {
  const error = errors.shift()
  if (error) throw error
  return `charged ${payload}`
})
await queue.start()
await queue.enqueueAndWait('charge-1', '3 EUR')

const job = await queue.get('charge-1')
console.log(`${job?.state} in attempt ${job?.attempts} of ${job?.maxAttempts}: ${job?.result}`)
for (const { attempt, workerId, startedAt, endedAt, outcome, state, error } of job?.history ?? []) {
  const why = error ? `, ${error.name}: ${error.message}` : ''
  console.log(`${attempt} by ${workerId}, ${endedAt - startedAt} ms: ${outcome}, then ${state}${why}`)
}
await queue.stop()
