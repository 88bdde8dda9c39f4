// Every way in which a fence goes stale, and what its late owner is to be told: for settle and extend alike.

import type { JobRef, LeaseRef, Refusal } from 'holdfast/storage'
import type { CaseContext } from '../case.ts'
import { complete, fail, retry } from '../outcomes.ts'
import { fenceOf, refOf } from '../records.ts'

interface Stale {
  /** Ends the sentence 'a holder whose …'. */
  readonly when: string
  readonly told: Refusal
  /** Brings it about: the fence that is stale now, and the jobs that must not change. */
  arrange(context: CaseContext): Promise<{ lease: LeaseRef; untouched: readonly JobRef[] }>
}

const alone = (lease: LeaseRef): { lease: LeaseRef; untouched: readonly JobRef[] } => ({
  lease: fenceOf(lease),
  untouched: [refOf(lease)],
})

/** A claim whose lease has run out. */
async function lost({ added, claimOne, advance, unit }: CaseContext, maxAttempts = 3): Promise<LeaseRef> {
  await added({ maxAttempts })
  const lease = await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
  await advance(2 * unit)
  return lease
}

/** A claim of a job whose id lives anew since. */
async function replaced({ storage, added, claimOne }: CaseContext): Promise<LeaseRef> {
  await added()
  const lease = await claimOne()
  await storage.cancel([refOf(lease)], { force: true })
  await added({ id: lease.id })
  return lease
}

export const staleFences: readonly Stale[] = [
  {
    when: 'job was taken back and waits',
    told: 'taken_by_another_worker',
    arrange: async (context) => {
      const lease = await lost(context)
      await context.storage.recover({ types: ['mail'], limit: 10 })
      return alone(lease)
    },
  },
  {
    when: 'job is held by another',
    told: 'taken_by_another_worker',
    arrange: async (context) => {
      const lease = await lost(context)
      await context.claimOne()
      return alone(lease)
    },
  },
  {
    when: 'job was completed by another',
    told: 'already_completed',
    arrange: async (context) => {
      const lease = await lost(context)
      await complete(context.storage, await context.claimOne(), 'of the second')
      return alone(lease)
    },
  },
  {
    when: 'job was failed by another',
    told: 'already_completed',
    arrange: async (context) => {
      const lease = await lost(context)
      await fail(context.storage, await context.claimOne())
      return alone(lease)
    },
  },
  {
    when: 'last allowed attempt was taken back',
    told: 'already_completed',
    arrange: async (context) => {
      const lease = await lost(context, 1)
      await context.storage.recover({ types: ['mail'], limit: 10 })
      return alone(lease)
    },
  },
  {
    when: 'job was completed without a worker',
    told: 'already_completed',
    arrange: async ({ storage, added, claimOne }) => {
      const job = refOf(await added())
      const lease = await claimOne()
      await storage.settle([{ ...job, chain: job, token: 'by hand', kind: 'completed' }])
      return alone(lease)
    },
  },
  {
    when: 'job was cancelled by force',
    told: 'cancelled',
    arrange: async ({ storage, added, claimOne }) => {
      const job = await added()
      const lease = await claimOne()
      await storage.cancel([refOf(job)], { force: true })
      return alone(lease)
    },
  },
  {
    when: 'job was taken back and then cancelled',
    told: 'cancelled',
    arrange: async (context) => {
      const lease = await lost(context)
      await context.storage.recover({ types: ['mail'], limit: 10 })
      await context.storage.cancel([refOf(lease)])
      return alone(lease)
    },
  },
  {
    when: 'job was removed',
    told: 'not_found',
    arrange: async ({ storage, added, claimOne }) => {
      const job = await added()
      const lease = await claimOne()
      await storage.remove([refOf(job)], { trees: true })
      return alone(lease)
    },
  },
  {
    when: 'id lives anew and waits',
    told: 'taken_by_another_worker',
    arrange: async (context) => alone(await replaced(context)),
  },
  {
    when: 'id lives anew, in an attempt of the same number',
    told: 'taken_by_another_worker',
    arrange: async (context) => {
      const lease = await replaced(context)
      await context.claimOne()
      return alone(lease)
    },
  },
  {
    when: 'attempt is right but whose worker is not',
    told: 'taken_by_another_worker',
    arrange: async ({ added, claimOne }) => {
      await added()
      return alone({ ...(await claimOne()), worker: 'somebody else' })
    },
  },
  {
    when: 'worker is right but whose attempt is an older one',
    told: 'taken_by_another_worker',
    arrange: async ({ storage, added, claimOne }) => {
      await added()
      await retry(storage, await claimOne())
      return alone({ ...(await claimOne()), attempt: 1 })
    },
  },
  {
    when: 'worker is right but whose attempt has not begun',
    told: 'taken_by_another_worker',
    arrange: async ({ added, claimOne }) => {
      await added()
      return alone({ ...(await claimOne()), attempt: 2 })
    },
  },
  {
    when: 'fence is that of a job of the same id and another type',
    told: 'not_found',
    arrange: async ({ added, claimOne }) => {
      await added()
      const lease = await claimOne()
      return { lease: { ...fenceOf(lease), type: 'post' }, untouched: [refOf(lease)] }
    },
  },
  {
    when: 'job never was',
    told: 'not_found',
    arrange: async () => alone({ type: 'mail', id: 'nobody', worker: 'w', attempt: 1 }),
  },
]
