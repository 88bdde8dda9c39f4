// A process that leaves its storage open. argv: the url, and what it does: `enqueue` and no more; `wait` for a job that another process runs;
// or `work` until a job has run.

import { Queue } from 'holdfast'
import { RedisStorage } from 'holdfast/redis'

const [, , url, way] = process.argv
const storage = new RedisStorage({ url: url! })
const queue = new Queue<number, number>({ storage, name: 'left-open' })
if (way === 'work') {
  queue.execute(async ({ payload }) => {
    // No other timer or socket keeps the process alive at the end.
    setTimeout(() => void queue.stop(), 100)
    return 2 * payload
  })
  await queue.start()
} else if (way === 'wait') {
  process.stdout.write(String(await queue.enqueueAndWait('waited', 21)))
  // It listens until then.
  await queue.stop()
} else {
  await queue.enqueue(way!, 21)
  process.stdout.write('enqueued')
}
