// Every way in which a fence becomes stale, with the verdict that settle and extend answer then.

import type { JobRef, LeaseRef, Refusal } from 'holdfast/storage'
import type { CaseContext } from '../case.ts'
import { complete, fail, retry } from '../outcomes.ts'
import { fenceOf, refOf } from '../records.ts'
import { lostLease } from '../scenarios.ts'

interface StaleFence {
  /** Ends the sentence 'a holder whose …'. */
  readonly when: string
  readonly answer: Refusal
  /** Makes the fence stale. Returns it, and the jobs that must not change. */
  arrange(context: CaseContext): Promise<{ lease: LeaseRef; untouched: readonly JobRef[] }>
}

const alone = (lease: LeaseRef): { lease: LeaseRef; untouched: readonly JobRef[] } => ({
  lease: fenceOf(lease),
  untouched: [refOf(lease)],
})

/** A claim of a job whose id has a new life since. */
async function replaced({ storage, added, claimOne }: CaseContext): Promise<LeaseRef> {
  await added()
  const lease = await claimOne()
  await storage.cancel([refOf(lease)], { force: true })
  await added({ id: lease.id })
  return lease
}

export const staleFences: readonly StaleFence[] = [
  {
    when: 'job was taken back and waits',
    answer: 'taken_by_another_worker',
    arrange: async (context) => {
      const lease = await lostLease(context)
      await context.storage.recover({ types: ['mail'], limit: 10 })
      return alone(lease)
    },
  },
  {
    when: 'job is held by another',
    answer: 'taken_by_another_worker',
    arrange: async (context) => {
      const lease = await lostLease(context)
      await context.claimOne()
      return alone(lease)
    },
  },
  {
    when: 'job was completed by another',
    answer: 'already_completed',
    arrange: async (context) => {
      const lease = await lostLease(context)
      await complete(context.storage, await context.claimOne(), 'of the second')
      return alone(lease)
    },
  },
  {
    when: 'job was failed by another',
    answer: 'already_completed',
    arrange: async (context) => {
      const lease = await lostLease(context)
      await fail(context.storage, await context.claimOne())
      return alone(lease)
    },
  },
  {
    when: 'last allowed attempt was taken back',
    answer: 'already_completed',
    arrange: async (context) => {
      const lease = await lostLease(context, { maxAttempts: 1 })
      await context.storage.recover({ types: ['mail'], limit: 10 })
      return alone(lease)
    },
  },
  {
    when: 'job was completed without a worker',
    answer: 'already_completed',
    arrange: async ({ storage, added, claimOne }) => {
      const job = refOf(await added())
      const lease = await claimOne()
      await storage.settle([{ ...job, chain: job, token: 'by hand', kind: 'completed' }])
      return alone(lease)
    },
  },
  {
    when: 'job was cancelled by force',
    answer: 'cancelled',
    arrange: async ({ storage, added, claimOne }) => {
      const job = await added()
      const lease = await claimOne()
      await storage.cancel([refOf(job)], { force: true })
      return alone(lease)
    },
  },
  {
    when: 'job was taken back and then cancelled',
    answer: 'cancelled',
    arrange: async (context) => {
      const lease = await lostLease(context)
      await context.storage.recover({ types: ['mail'], limit: 10 })
      await context.storage.cancel([refOf(lease)])
      return alone(lease)
    },
  },
  {
    when: 'job was removed',
    answer: 'not_found',
    arrange: async ({ storage, added, claimOne }) => {
      const job = await added()
      const lease = await claimOne()
      await storage.remove([refOf(job)], { trees: true })
      return alone(lease)
    },
  },
  {
    when: 'id has a new life that waits',
    answer: 'taken_by_another_worker',
    arrange: async (context) => alone(await replaced(context)),
  },
  {
    when: 'id has a new life, in an attempt of the same number',
    answer: 'taken_by_another_worker',
    arrange: async (context) => {
      const lease = await replaced(context)
      await context.claimOne()
      return alone(lease)
    },
  },
  {
    when: 'attempt matches but whose worker does not',
    answer: 'taken_by_another_worker',
    arrange: async ({ added, claimOne }) => {
      await added()
      return alone({ ...(await claimOne()), worker: 'another worker' })
    },
  },
  {
    when: 'worker matches but whose attempt is older',
    answer: 'taken_by_another_worker',
    arrange: async ({ storage, added, claimOne }) => {
      await added()
      await retry(storage, await claimOne())
      return alone({ ...(await claimOne()), attempt: 1 })
    },
  },
  {
    when: 'worker matches but whose attempt has not begun',
    answer: 'taken_by_another_worker',
    arrange: async ({ added, claimOne }) => {
      await added()
      return alone({ ...(await claimOne()), attempt: 2 })
    },
  },
  {
    when: 'fence belongs to a job of the same id and another type',
    answer: 'not_found',
    arrange: async ({ added, claimOne }) => {
      await added()
      const lease = await claimOne()
      return { lease: { ...fenceOf(lease), type: 'post' }, untouched: [refOf(lease)] }
    },
  },
  {
    when: 'job never existed',
    answer: 'not_found',
    arrange: async () => alone({ type: 'mail', id: 'unknown', worker: 'w', attempt: 1 }),
  },
]
