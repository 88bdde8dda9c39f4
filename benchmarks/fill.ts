// Fills a storage with records in several states, through the storage contract, in batches.

import type { Storage } from 'holdfast'
import type { ClaimedJob, NewJob, Outcome, SearchFields } from 'holdfast/storage'

/** What to store. Numbers of records. */
export interface Fill {
  readonly completed: number
  readonly failed: number
  readonly queued: number
  readonly scheduled: number
}

const batch = 1_000
/** Calls in flight: a server works while this process prepares the next call. */
const lanes = 2
const leaseMs = 3_600_000
const dayMs = 86_400_000
const retention = { completedMs: dayMs, failedMs: dayMs, cancelledMs: dayMs }
const payload = Buffer.from(JSON.stringify({ to: 'user@example.com', template: 'welcome-with-a-longer-name' }))
const error = Buffer.from(JSON.stringify({ name: 'Error', message: 'connect ECONNREFUSED' }))

export const types = { mail: 'queue.mail', report: 'queue.report' } as const

/** A fifth of the records is of the second type, and has two search fields instead of one. */
function jobOf(n: number, fields: Partial<NewJob>): NewJob {
  const type = n % 5 === 4 ? types.report : types.mail
  const region = `r-${n % 3}`
  const search: SearchFields = type === types.report ? { region, total: n % 5_000 } : { region }
  return { type, id: `job-${n}`, token: `token-${n}`, payload, retention, search, ...fields }
}

/** The ended records come first: a claim must find no other job. */
export async function fill(storage: Storage, { completed, failed, queued, scheduled }: Fill): Promise<void> {
  const ended = completed + failed
  await addAll(storage, 0, ended)
  await endAll(storage, failed / ended)
  await addAll(storage, ended, queued)
  await addAll(storage, ended + queued, scheduled, { delayMs: dayMs })
}

async function addAll(storage: Storage, first: number, count: number, fields: Partial<NewJob> = {}): Promise<void> {
  let next = first
  const lane = async (): Promise<void> => {
    while (next < first + count) {
      const size = Math.min(batch, first + count - next)
      const start = next
      next += size
      await storage.add(Array.from({ length: size }, (_, index) => jobOf(start + index, fields)))
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

/** Claims all jobs and ends them: a share of them as failed, the others as completed. */
async function endAll(storage: Storage, failedShare: number): Promise<void> {
  let claims = 0
  let [taken, failed] = [0, 0]
  const outcomeOf = ({ type, id, worker, attempt }: ClaimedJob): Outcome => {
    const fence = { type, id, worker, attempt }
    taken++
    if (failed >= taken * failedShare) return { ...fence, kind: 'completed' }
    failed++
    return { ...fence, kind: 'failed', error }
  }
  const lane = async (): Promise<void> => {
    for (let outcomes: Outcome[] = []; ;) {
      const { jobs, settled } = await storage.claim({
        worker: `fill/${++claims}`,
        slots: batch,
        outcomes,
        types: Object.values(types).map((type) => ({ type, leaseMs })),
      })
      const refused = settled.find(({ verdict }) => verdict !== 'settled')
      if (refused) throw new Error(`filling: an outcome was refused: ${refused.verdict}`)
      if (jobs.length === 0) return
      outcomes = jobs.map(outcomeOf)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
