// A producer for volume: adds its jobs in batches. A batch without an answer is added again under the same ids, also by the process that
// replaces this one.

import { existsSync, readFileSync } from 'node:fs'
import { isHoldfastError, Queue } from 'holdfast'
import { logFile, noteError, retryUntilDone, sleep, startChild } from '../child.ts'
import { typeOf } from '../jobs.ts'
import {
  batchSize,
  idOf,
  mostWaiting,
  payloadOf,
  shareOf,
  volumeAttempts,
  type VolumePayload,
  volumeQueue,
} from './volume-jobs.ts'
import { entryOf, VolumeLog } from './volume-log.ts'

/** Of an add that is repeated: the job waits, runs, or has ended already. */
const accepted: readonly string[] = ['queued', 'duplicate', 'completed']

const child = await startChild()
const { storage, leaseMs, name, volume } = child
const file = logFile(child.directory, child.role, child.slot).replace(/\.log$/, '.volume')
const [first, end] = shareOf(child.slot, volume!.producers, volume!.jobs)
const acked = ackedBefore()
const log = new VolumeLog(file, name)
const queue = new Queue<VolumePayload, number>({ storage, name: volumeQueue, workerId: name })
queue.on('error', noteError(child.log))
await retryUntilDone(child.log, () => queue.start())
child.ready()
for (let from = acked; from < end; from += batchSize) await add(from, Math.min(end, from + batchSize))
await child.finish
await queue.stop({ timeout: 1_000 })
process.exit(0)

/** Batches are added one after the other, so all before the last acknowledged one are acknowledged. */
function ackedBefore(): number {
  if (!existsSync(file)) return first
  const entries = readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => entryOf(line, ''))
  return entries.reduce((most, entry) => (entry?.what === 'acked' ? Math.max(most, entry.to) : most), first)
}

async function add(from: number, to: number): Promise<void> {
  const items = Array.from({ length: to - from }, (_, index) => {
    const job = from + index
    return { id: idOf(job), payload: payloadOf(job, leaseMs), maxAttempts: volumeAttempts }
  })
  await roomFor()
  for (;;) {
    log.span('a', from, to)
    try {
      const answers = await queue.enqueueMany(items)
      if (answers.every(({ status }) => accepted.includes(status))) return log.span('k', from, to)
      throw new Error(
        `enqueueMany answered ${JSON.stringify(answers.find(({ status }) => !accepted.includes(status)))}`,
      )
    } catch (error) {
      noteError(child.log)(error as Error)
      // Anything else is a defect, and ends the run.
      if (!isHoldfastError(error)) throw error
      await sleep(100)
    }
  }
}

async function roomFor(): Promise<void> {
  for (;;) {
    const waiting = await storage.count({ types: [typeOf(volumeQueue)] }).then(
      ({ types }) => types[0]?.states.queued ?? 0,
      () => mostWaiting,
    )
    if (waiting < mostWaiting) return
    await sleep(5)
  }
}
