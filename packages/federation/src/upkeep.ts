// Upkeep of the tables while workers run: sweeps failed deliveries after their retention, removes peers that were never used, and
// reconciles an open delivery with its job if the job has ended or was never added.

import type { Timer } from 'holdfast/storage'
import { failureCode } from './deliver/process.ts'
import type { FederationDeliveryJob } from './jobs.ts'
import type { FederationQueue } from './queues.ts'
import type { SendingContext } from './context.ts'
import { jobOf } from './outbox.ts'
import type { DeliveryRow } from './store/store.ts'

const intervalMs = 60_000
const batch = 1_000

export interface Upkeep {
  stop(): Promise<void>
}

export function startUpkeep(
  context: SendingContext,
  queue: FederationQueue<FederationDeliveryJob>,
  open: () => Promise<void>,
): Upkeep {
  const { clock, logger } = context
  let timer: Timer | undefined
  let isStopped = false
  const run = async (): Promise<void> => {
    try {
      await open()
      await reconcileRows(context, queue, () => isStopped)
    } catch (error) {
      if (!isStopped) logger?.error?.({ code: failureCode(error) }, 'federation: upkeep of delivery rows failed')
    }
    if (!isStopped) timer = clock.after(intervalMs, () => (running = run()), { keepsAlive: false })
  }
  let running = run()
  return {
    stop: async () => {
      isStopped = true
      timer?.cancel()
      await running
    },
  }
}

/** One pass over the rows. */
export async function reconcileRows(
  context: SendingContext,
  queue: FederationQueue<FederationDeliveryJob>,
  isStopped: () => boolean = () => false,
): Promise<void> {
  const { store, clock, policies } = context
  while ((await store.deliveries.sweep(clock.now() - policies.delivery.keepFailedMs, batch)) === batch) {
    if (isStopped()) return
  }
  while ((await store.peers.expireUnused(clock.now() - policies.registry.unusedMs, batch)) === batch) {
    if (isStopped()) return
  }
  await resumePeers(context, isStopped)
  while ((await store.deliveries.sweepBodies(clock.now() - intervalMs, batch)) === batch) {
    if (isStopped()) return
  }
  // A day more than the rows that expire, so that every reply that may be asked for is kept.
  const compactBefore = clock.now() - 32 * 24 * 3_600_000
  while (
    (await store.inbox.expire(clock.now(), batch)) === batch ||
    (await store.inbox.compact(compactBefore, batch)) === batch
  ) {
    if (isStopped()) return
  }
  for (let after: DeliveryRow | undefined; ;) {
    const page = await store.deliveries.list({ status: 'open', limit: batch, after })
    for (const row of page) {
      if (isStopped()) return
      if (dueAt(row) <= clock.now() - intervalMs) await reconcileRow(context, queue, row)
    }
    if (page.length < batch) return
    after = page.at(-1)
  }
}

/** A process may have died between the hold of a peer and the job that ends it. */
async function resumePeers(context: SendingContext, isStopped: () => boolean): Promise<void> {
  const { store, clock, contacts } = context
  if (!contacts) return
  for (let after = ''; ;) {
    const due = await store.peerStates.listDue(clock.now() - intervalMs, after, batch)
    for (const origin of due) {
      if (isStopped()) return
      await contacts.resume(context, origin)
    }
    if (due.length < batch) return
    after = due.at(-1)!
  }
}

/** Rows get a minute: the process that wrote one may be about to add its job. Jobs are found by the row's id alone. */
const dueAt = ({ createdAt, lastAttemptedAt = 0, nextAttemptAt = 0 }: DeliveryRow): number =>
  Math.max(createdAt, lastAttemptedAt, nextAttemptAt)

async function reconcileRow(
  { store, clock }: SendingContext,
  queue: FederationQueue<FederationDeliveryJob>,
  row: DeliveryRow,
): Promise<void> {
  const { id, name, lastError = 'UNKNOWN' } = row
  const job = await queue.get(id)
  if (!job) {
    // Never added, or swept. At worst the delivery is sent a second time; its message key is the same.
    await queue.add(name, jobOf(row), { id })
  } else if (job.state === 'completed') await store.deliveries.remove(id)
  else if (job.state === 'failed' || job.state === 'cancelled')
    await store.deliveries.failed(id, lastError, clock.now())
}
