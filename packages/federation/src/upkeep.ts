// Upkeep of the tables while workers run: sweeps failed deliveries after their retention, removes peers that were never used, bounds what
// waits for a peer, and reconciles an open delivery with its job if the job has ended or was never added.

import type { Timer } from 'holdfast/storage'
import { failureCode } from './deliver/process.ts'
import type { FederationDeliveryJob } from './jobs.ts'
import type { FederationQueue } from './queues.ts'
import type { SendingContext } from './context.ts'
import { jobOf } from './outbox.ts'
import type { DeliveryRow } from './store/store.ts'

const intervalMs = 60_000
const batch = 1_000
/** States of peers that were never reached. */
const maxUnproven = 10_000

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
      await context.backlogs.trimAll()
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
  const { store, clock, policies, contacts } = context
  const { keepFailedMs } = policies.delivery
  const { unusedMs } = policies.registry
  // A day more than the rows that expire, so that every reply that may be asked for is kept.
  const compactBefore = clock.now() - 32 * 24 * 3_600_000
  const sweeps = [
    () => store.deliveries.sweep(clock.now() - keepFailedMs, batch),
    () => store.peers.expireUnused(clock.now() - unusedMs, batch),
    () => store.peerStates.expire(clock.now() - unusedMs, batch),
    () => store.peerStates.evict(maxUnproven, batch),
    () => store.deliveries.sweepBodies(clock.now() - intervalMs, batch),
    () => store.inbox.expire(clock.now(), batch),
    () => store.inbox.compact(compactBefore, batch),
  ]
  for (const sweep of sweeps) {
    do if (isStopped()) return
    while ((await sweep()) === batch)
  }
  await contacts?.resumeAll(context, isStopped)
  for (let after: DeliveryRow | undefined; ;) {
    const page = await store.deliveries.list({ status: 'open', limit: batch, after })
    if (isStopped()) return
    await reconcilePage(
      context,
      queue,
      page.filter((row) => dueAt(row) <= clock.now() - intervalMs),
    )
    if (page.length < batch) return
    after = page.at(-1)
  }
}

/** Rows get a minute: the process that wrote one may be about to add its job. Jobs are found by the row's id alone. */
const dueAt = ({ createdAt, lastAttemptedAt = 0, nextAttemptAt = 0 }: DeliveryRow): number =>
  Math.max(createdAt, lastAttemptedAt, nextAttemptAt)

/** One read for all jobs: most rows wait for a peer that does not answer, and need nothing. */
async function reconcilePage(
  { store, clock }: SendingContext,
  queue: FederationQueue<FederationDeliveryJob>,
  rows: readonly DeliveryRow[],
): Promise<void> {
  if (rows.length === 0) return
  const states = await queue.statesOf(rows.map(({ id }) => id))
  for (const [index, row] of rows.entries()) {
    const { id, name, lastError = 'UNKNOWN' } = row
    const state = states[index]
    // Never added, or swept. At worst the delivery is sent a second time; its message key is the same.
    if (state === undefined) await queue.add(name, jobOf(row), { id })
    else if (state === 'completed') await store.deliveries.remove(id)
    else if (state === 'failed' || state === 'cancelled') await store.deliveries.failed(id, lastError, clock.now())
  }
}
