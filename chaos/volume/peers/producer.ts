// A producer of a peer: the same batches, and repeats of those without an answer, as those of producer.ts above.

import { noteError, retryUntilDone, sleep, startChild } from '../../child.ts'
import { addAll } from '../add-all.ts'
import { openPeer } from './open-child.ts'

const child = await startChild()
const place = openPeer(child)
await retryUntilDone(child.log, () => place.waiting())
child.ready()
await addAll(child, {
  add: (jobs) => place.add(jobs),
  waiting: () => place.waiting(),
  // It has no errors of one kind that say what may be repeated: each is.
  isExpected: (error) => {
    noteError(child.log)(error)
    return true
  },
})
await child.finish
await Promise.race([place.close().catch(() => {}), sleep(10_000)])
process.exit(0)
