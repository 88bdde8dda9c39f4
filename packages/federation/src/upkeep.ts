// What the rows of deliveries need while workers run: failed ones go after their time, and a row whose job has ended, or never
// came to be, is brought in line with it.

import type { Timer } from 'holdfast'
import { failureCode } from './deliver/process.ts'
import type { FederationDeliveryJob } from './jobs.ts'
import type { FederationQueue } from './queues.ts'
import type { SendingContext } from './context.ts'
import type { DeliveryRow } from './store/store.ts'

const everyMs = 60_000
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
  const look = async (): Promise<void> => {
    try {
      await open()
      await keepRows(context, queue, () => isStopped)
    } catch (error) {
      if (!isStopped) logger?.error?.({ code: failureCode(error) }, 'the rows of deliveries could not be looked after')
    }
    if (!isStopped) timer = clock.after(everyMs, () => (looking = look()), { keepsAlive: false })
  }
  let looking = look()
  return {
    stop: async () => {
      isStopped = true
      timer?.cancel()
      await looking
    },
  }
}

/** One look. */
export async function keepRows(
  context: SendingContext,
  queue: FederationQueue<FederationDeliveryJob>,
  isStopped: () => boolean = () => false,
): Promise<void> {
  const { store, clock, policies } = context
  while ((await store.deliveries.sweep(clock.now() - policies.delivery.keepFailedMs, batch)) === batch) {
    if (isStopped()) return
  }
  for (const row of await store.deliveries.list({ status: 'open', limit: batch })) {
    if (isStopped()) return
    if (dueAt(row) <= clock.now() - everyMs) await keepRow(context, queue, row)
  }
}

/** Whoever wrote the row may be about to add its job; and a job is looked for under the row's id, though it may have another. */
const dueAt = ({ createdAt, lastAttemptedAt = 0, nextAttemptAt = 0 }: DeliveryRow): number =>
  Math.max(createdAt, lastAttemptedAt, nextAttemptAt)

async function keepRow(
  { store, clock }: SendingContext,
  queue: FederationQueue<FederationDeliveryJob>,
  row: DeliveryRow,
): Promise<void> {
  const { id, name, targetUrl, serverUrl, payload, lastError = 'UNKNOWN' } = row
  const job = await queue.get(id)
  if (!job) {
    // Never added, or gone long since: sent again at worst, and a peer knows it by its content.
    await queue.add(name, { deliveryJobId: id, targetUrl, serverUrl, payload }, { id })
  } else if (job.state === 'completed') await store.deliveries.remove(id)
  else if (job.state === 'failed' || job.state === 'cancelled')
    await store.deliveries.failed(id, lastError, clock.now())
}
