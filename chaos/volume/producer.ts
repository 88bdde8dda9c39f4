// A producer for volume.

import { isHoldfastError, Queue } from 'holdfast'
import { noteError, retryUntilDone, startChild } from '../child.ts'
import { typeOf } from '../jobs.ts'
import { addAll } from './add-all.ts'
import { idOf, mostWaiting, volumeAttempts, type VolumePayload, volumeQueue } from './volume-jobs.ts'

/** Of an add that is repeated: the job waits, runs, or has ended already. */
const accepted: readonly string[] = ['queued', 'duplicate', 'completed']

const child = await startChild()
const { storage, name } = child
const queue = new Queue<VolumePayload, number>({ storage, name: volumeQueue, workerId: name })
queue.on('error', noteError(child.log))
await retryUntilDone(child.log, () => queue.start())
child.ready()
await addAll(child, {
  async add(jobs) {
    const items = jobs.map(({ job, payload }) => ({ id: idOf(job), payload, maxAttempts: volumeAttempts }))
    const answers = await queue.enqueueMany(items)
    const refused = answers.find(({ status }) => !accepted.includes(status))
    if (refused) throw new Error(`enqueueMany answered ${JSON.stringify(refused)}`)
  },
  async waiting() {
    const { types } = await storage.count({ types: [typeOf(volumeQueue)] })
    return types[0] ? (types[0].states.queued ?? mostWaiting) : 0
  },
  isExpected(error) {
    noteError(child.log)(error)
    return isHoldfastError(error)
  },
})
await child.finish
await queue.stop({ timeout: 1_000 })
process.exit(0)
