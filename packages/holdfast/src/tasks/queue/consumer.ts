// One worker of a message queue, with a connection count of its own: several consume one queue side by side.

import { atMost, type Clock } from '../../clock.ts'
import { engineDefaults } from '../../engine/defaults.ts'
import type { PublishEvent } from '../../engine/events.ts'
import type { GuardedStorage } from '../../engine/guard.ts'
import { healthOf } from '../../engine/health.ts'
import type { LimitsCopy } from '../../engine/limits/limits-copy.ts'
import type { WorkType } from '../../engine/work/work-type.ts'
import { Worker } from '../../engine/work/worker.ts'
import type { Consumer } from './message-queue.ts'

interface Consuming {
  /** Name of the queue. */
  readonly name: string
  readonly storage: GuardedStorage
  readonly clock: Clock
  readonly work: WorkType
  readonly limits: LimitsCopy
  readonly concurrency: number
  readonly pollMs: number
  readonly presenceMs: number | false
  readonly prefetchMs: number | false
  /** For a stop without one. */
  readonly graceMs: number
  readonly publishEvent: PublishEvent
}

/**
 * Connects and begins to work. Resolves when ready; a call that rejects leaves nothing behind.
 * @param signal aborted meanwhile: it does not begin to work, gives back what it has claimed, and returns undefined
 * @param abortGraceMs how long handlers of its first claim may go on then
 * @throws StorageError
 */
export async function openConsumer(
  consuming: Consuming,
  signal: AbortSignal,
  abortGraceMs: number,
): Promise<Consumer | undefined> {
  const { name, storage, clock, work, limits, concurrency, pollMs, presenceMs, prefetchMs, publishEvent } = consuming
  await storage.connect()
  if (signal.aborted) return void (await disconnect(consuming, engineDefaults.stopWritesMs))
  const { loopBackoff } = engineDefaults
  const label = clock.newId()
  const worker = new Worker({
    storage,
    clock,
    label,
    concurrency,
    pollMs,
    presenceMs,
    prefetchMs,
    limits,
    slotPauseMs: 0,
    loopBackoff,
    publishEvent,
    types: [work],
  })
  let stopping: Promise<void> | undefined
  const end = (graceMs: number): Promise<void> => (stopping ??= stop(worker, consuming, graceMs))
  // At once, not after the start: its first claim may be answered late, and the jobs of it must not run then.
  const abandon = (): void => void end(abortGraceMs)
  signal.addEventListener('abort', abandon, { once: true })
  try {
    await worker.start()
  } catch (error) {
    if (stopping) return void (await stopping)
    await disconnect(consuming, engineDefaults.stopWritesMs)
    throw error
  } finally {
    signal.removeEventListener('abort', abandon)
  }
  if (stopping) return void (await stopping)
  return {
    stop: ({ graceMs = consuming.graceMs } = {}) => end(graceMs),
    health: () => healthOf(`message queue '${name}'`, !stopping, storage.unansweredMs(), worker.state),
  }
}

async function stop(worker: Worker, consuming: Consuming, graceMs: number): Promise<void> {
  const leftMs = await worker.stop({ graceMs, afterAbortMs: Math.min(engineDefaults.afterAbortMs, graceMs) })
  await disconnect(consuming, leftMs)
}

/** Never rejects. */
async function disconnect({ storage, clock, publishEvent }: Consuming, withinMs: number): Promise<void> {
  try {
    await atMost(clock, withinMs, storage.disconnect())
  } catch (error) {
    publishEvent({ name: 'error', error: error as Error })
  }
}
