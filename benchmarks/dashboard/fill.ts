// Fills a storage with jobs of many types, in every state that a list can be filtered by.

import type { Storage } from 'holdfast'
import type { NewJob, Outcome } from 'holdfast/storage'

const [batch, lanes, hourMs, dayMs] = [5_000, 2, 3_600_000, 86_400_000]
/** Jobs of one type that are added one after the other. A call that names fewer types costs a storage less. */
const perType = 50
const retention = { completedMs: dayMs, failedMs: dayMs, cancelledMs: dayMs }
const payload = Buffer.from(JSON.stringify({ to: 'user@example.com', template: 'welcome' }))
const error = Buffer.from(JSON.stringify({ name: 'Error', message: 'connect ECONNREFUSED 10.0.0.7:25' }))

export const typeName = (n: number): string => `type-${n}`

/**
 * A twentieth has ended, two of three completed and one failed; some run; some were cancelled. Of the others, a quarter is scheduled,
 * a quarter in groups, and half is queued.
 */
export async function fill(storage: Storage, jobs: number, types: number): Promise<void> {
  const ended = Math.round(jobs * 0.05)
  await addAll(storage, 0, ended, types)
  await endAll(storage, types)
  await addAll(storage, ended, jobs - ended, types)
  await storage.claim({
    worker: 'fill/running',
    slots: 500,
    types: Array.from({ length: Math.min(types, 100) }, (_, n) => ({
      type: `queue.${typeName(n)}`,
      leaseMs: hourMs,
      slots: 5,
    })),
  })
  // The last ones of all.
  const cancelled = Array.from({ length: Math.min(1_000, jobs - ended) }, (_, n) => refOf(jobs - 1 - n, types))
  await storage.cancel(cancelled)
}

const refOf = (n: number, types: number): { readonly type: string; readonly id: string } => ({
  type: `queue.${typeName(Math.floor(n / perType) % types)}`,
  id: `job-${n}`,
})

function jobOf(n: number, types: number, isEnded: boolean): NewJob {
  const kind = isEnded ? 3 : n % 4
  return {
    ...refOf(n, types),
    token: `token-${n}`,
    payload,
    retention,
    search: { customer: `c-${n % 100_000}` },
    ...(kind === 0 && { delayMs: dayMs }),
    ...(kind === 1 && { group: { key: `tenant-${Math.floor(n / 4) % 50}` } }),
  }
}

async function addAll(storage: Storage, first: number, count: number, types: number): Promise<void> {
  let next = first
  const size = Math.min(batch, storage.settings.addsPerCall ?? batch)
  const lane = async (): Promise<void> => {
    while (next < first + count) {
      const start = next
      const length = Math.min(size, first + count - start)
      next += length
      await storage.add(Array.from({ length }, (_, index) => jobOf(start + index, types, first === 0)))
      if (Math.floor(next / 100_000) > Math.floor(start / 100_000)) console.log(`  ${next} jobs`)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

async function endAll(storage: Storage, types: number): Promise<void> {
  let claims = 0
  let taken = 0
  // A claim names at most some of the types.
  for (let first = 0; first < types; first += 100) {
    const wanted = Array.from({ length: Math.min(100, types - first) }, (_, index) => ({
      type: `queue.${typeName(first + index)}`,
      leaseMs: hourMs,
    }))
    for (let outcomes: Outcome[] = []; ;) {
      const claim = await storage.claim({ worker: `fill/${++claims}`, slots: 1_000, outcomes, types: wanted })
      if (claim.jobs.length === 0) break
      outcomes = claim.jobs.map(({ type, id, worker, attempt }): Outcome => {
        const fence = { type, id, worker, attempt }
        return ++taken % 3 === 0 ? { ...fence, kind: 'failed', error } : { ...fence, kind: 'completed' }
      })
    }
  }
}
