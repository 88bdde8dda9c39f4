// A schedule whose slots were missed: it is stored as if it had been put long ago.

import type { Queue, QueueSchedule, Storage } from 'holdfast'
import { storedType } from 'holdfast/storage'
import { decodeSchedule, encodeSchedule, entryKey } from '../../src/engine/schedule/stored-schedule.ts'

const hour = 3_600_000

/**
 * A period of about an hour of which half has passed, whatever time it is: no slot comes during a test, and the last one is late
 * enough to count as missed.
 */
function halfPassedPeriod(now: number): number {
  return Math.round(now / (Math.floor(now / hour) + 0.5))
}

/** Puts a schedule that has missed so many slots. @returns the ids of their jobs, oldest first */
export async function putMissed<P, R>(
  storage: Storage,
  queue: Queue<P, R>,
  name: string,
  schedule: Omit<QueueSchedule<P>, 'everyMs' | 'cron'>,
  missed: number,
): Promise<string[]> {
  await storage.connect()
  const { now } = await storage.count({ types: [] })
  const everyMs = halfPassedPeriod(now)
  const last = Math.floor(now / everyMs) * everyMs
  await queue.schedules.put(name, { ...schedule, everyMs } as QueueSchedule<P>)
  const key = entryKey(storedType('queue', queue.name), name)
  const stored = decodeSchedule((await storage.kv.get(key))!)!
  await storage.kv.set(key, encodeSchedule({ ...stored, since: last - missed * everyMs }))
  return Array.from(
    { length: missed },
    (_, n) => `${name}@${new Date(last - (missed - 1 - n) * everyMs).toISOString()}`,
  )
}
