// Fills a storage with jobs of many types, in every state that a list can be filtered by.

import type { Storage } from 'holdfast'
import type { NewJob, Outcome } from 'holdfast/storage'

const [batch, lanes, dayMs] = [1_000, 2, 86_400_000]
const retention = { completedMs: dayMs, failedMs: dayMs, cancelledMs: dayMs }
const payload = Buffer.from(JSON.stringify({ to: 'user@example.com', template: 'welcome' }))
const error = Buffer.from(JSON.stringify({ name: 'Error', message: 'connect ECONNREFUSED 10.0.0.7:25' }))

export const typeName = (n: number): string => `type-${n}`

/** A tenth has ended: two of three completed, one failed. Of the others, a quarter is scheduled, a quarter in groups, and half is queued. */
export async function fill(storage: Storage, jobs: number, types: number): Promise<void> {
  const ended = Math.round(jobs * 0.1)
  await addAll(storage, 0, ended, types)
  await endAll(storage, types)
  await addAll(storage, ended, jobs - ended, types)
}

function jobOf(n: number, types: number, isEnded: boolean): NewJob {
  const type = `queue.${typeName(n % types)}`
  // By its position among those of its type.
  const kind = Math.floor(n / types) % 4
  return {
    type,
    id: `job-${n}`,
    token: `token-${n}`,
    payload,
    retention,
    search: { customer: `c-${n % 100_000}` },
    ...(!isEnded && kind === 0 && { delayMs: dayMs }),
    ...(!isEnded && kind === 1 && { group: { key: `tenant-${n % 50}` } }),
  }
}

async function addAll(storage: Storage, first: number, count: number, types: number): Promise<void> {
  let next = first
  const lane = async (): Promise<void> => {
    while (next < first + count) {
      const size = Math.min(batch, first + count - next)
      const start = next
      next += size
      await storage.add(Array.from({ length: size }, (_, index) => jobOf(start + index, types, first === 0)))
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

async function endAll(storage: Storage, types: number): Promise<void> {
  let claims = 0
  let taken = 0
  // A claim names at most some of the types.
  const groups = Array.from({ length: Math.ceil(types / 100) }, (_, group) =>
    Array.from({ length: Math.min(100, types - group * 100) }, (_unused, index) => ({
      type: `queue.${typeName(group * 100 + index)}`,
      leaseMs: 3_600_000,
    })),
  )
  for (const wanted of groups) {
    for (let outcomes: Outcome[] = []; ;) {
      const claim = await storage.claim({ worker: `fill/${++claims}`, slots: batch, outcomes, types: wanted })
      if (claim.jobs.length === 0) break
      outcomes = claim.jobs.map(({ type, id, worker, attempt }): Outcome => {
        const fence = { type, id, worker, attempt }
        return ++taken % 3 === 0 ? { ...fence, kind: 'failed', error } : { ...fence, kind: 'completed' }
      })
    }
  }
}
