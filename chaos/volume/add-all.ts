// Adds the jobs of one producer, in batches, one after the other. A batch without an answer is added again under the same ids, also by the
// process that replaces this one.

import { existsSync, readFileSync } from 'node:fs'
import { type Child, logFile, sleep } from '../child.ts'
import { batchSize, mostWaiting, payloadOf, shareOf, type VolumePayload } from './volume-jobs.ts'
import { entryOf, VolumeLog } from './volume-log.ts'

export interface Adding {
  add(jobs: readonly { readonly job: number; readonly payload: VolumePayload }[]): Promise<void>
  /** Jobs that wait now. */
  waiting(): Promise<number>
  /** Whether the batch may be added again after this error. Anything else is a defect, and ends the run. */
  isExpected(error: Error): boolean
}

export async function addAll(child: Child, { add, waiting, isExpected }: Adding): Promise<void> {
  const { name, slot, volume, leaseMs } = child
  const file = logFile(child.directory, child.role, slot).replace(/\.log$/, '.volume')
  const [first, end] = shareOf(slot, volume!.producers, volume!.jobs)
  const acked = ackedBefore(file, first)
  const log = new VolumeLog(file, name)
  for (let from = acked; from < end; from += batchSize) {
    const to = Math.min(end, from + batchSize)
    const jobs = Array.from({ length: to - from }, (_, index) => {
      return { job: from + index, payload: payloadOf(from + index, leaseMs) }
    })
    while ((await waiting().catch(() => mostWaiting)) >= mostWaiting) await sleep(5)
    for (let isDone = false; !isDone;) {
      log.span('a', from, to)
      try {
        await add(jobs)
        log.span('k', from, to)
        isDone = true
      } catch (error) {
        if (!isExpected(error as Error)) throw error
        await sleep(100)
      }
    }
  }
}

/** Batches are added one after the other, so all before the last acknowledged one are acknowledged. */
function ackedBefore(file: string, first: number): number {
  if (!existsSync(file)) return first
  const entries = readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => entryOf(line, ''))
  return entries.reduce((most, entry) => (entry?.what === 'acked' ? Math.max(most, entry.to) : most), first)
}
