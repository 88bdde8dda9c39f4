// The jobs of a run for volume. What a handler does follows from the number of the job.

export interface VolumePayload {
  /** Duration of the handler, ms. */
  readonly ms: number
  /** Whether the first attempt fails on purpose. */
  readonly failsOnce: boolean
}

/** The queue of the rig whose records stay. */
export const volumeQueue = 'kept'
export const volumeAttempts = 60
/** Jobs of one add. */
export const batchSize = 300
/** Waiting jobs above which producers pause: a recovered job should not wait behind many others. */
export const mostWaiting = 300

export const idOf = (job: number): string => `v${job}`
export const jobOf = (id: string): number => (/^v\d+$/.test(id) ? Number(id.slice(1)) : Number.NaN)

/** Most end at once; some outlast their lease, which is renewed. */
export function payloadOf(job: number, leaseMs: number): VolumePayload {
  const ms = job % 2_000 === 7 ? 1.5 * leaseMs : job % 10 === 3 ? job % 25 : 0
  return { ms, failsOnce: job % 200 === 11 }
}

/** The jobs of a producer: from the first on, before the second. */
export function shareOf(slot: number, producers: number, jobs: number): readonly [number, number] {
  const size = Math.ceil(jobs / producers)
  return [Math.min(jobs, slot * size), Math.min(jobs, (slot + 1) * size)]
}
