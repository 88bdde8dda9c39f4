// For tests: runs every job that is due, and every job that follows from them, then stops. It is the real engine, so delays, order
// and keys apply: a job that waits for its time, or behind such a job, is left until the clock has moved.

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { systemClock } from '../clock.ts'
import type { EngineEvent } from '../engine/events.ts'
import { usageError } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import { claimLimits, effectiveLimits } from '../engine/limits/effective-limits.ts'
import { readLimits } from '../engine/limits/limits-store.ts'
import type { ClaimType, Storage } from '../storage/storage.ts'
import { parseType } from '../storage/stored-type.ts'
import { drainOptions } from './options.ts'
import { UnservedJobs } from './unserved-jobs.ts'

/** Tasks, a Queue, a worker of chains: anything that works between the two. */
export interface Drainable {
  start(): Promise<unknown>
  stop(): Promise<unknown>
}

/** Options of drain(). */
export interface DrainOptions {
  /** The storage of the jobs. */
  readonly storage: Storage
  /**
   * Names: of a Queue, of a message queue, of a chain type. A name stands for that name in every face; a stored type, such as
   * `queue.mail`, for one face. @default every type that the storage knows
   */
  readonly types?: readonly string[] | undefined
  /** Attempts after which it stops, although more is due. Running attempts are finished. @default Infinity */
  readonly limit?: number | undefined
}

/** Number of attempts, by their outcome. */
export interface Drained {
  /** Completed. */
  readonly completed: number
  /** Failed, with another attempt to come. */
  readonly failing: number
  /** Failed for good. */
  readonly failed: number
  /** Given back without spending an attempt, as by snooze(). */
  readonly released: number
}

const outcomes = ['completed', 'failing', 'failed', 'released'] as const

/** Longest wait between two looks at the storage, in ms of the system's clock. */
const lookMs = 5

/**
 * Starts the worker, waits until nothing can run unless time passes, and stops it. With a `fakeClock()`, move it and drain again.
 * @throws INVALID_ARGUMENT, also if jobs are due that no worker takes; and what start() rejects with
 */
export async function drain(worker: Drainable, options: DrainOptions): Promise<Drained> {
  const { storage, types, limit } = resolveOptions('drain', options, drainOptions)
  const isIncluded = (type: string): boolean =>
    types === undefined || types.includes(type) || types.includes(parseType(type).name)
  const drained = { completed: 0, failing: 0, failed: 0, released: 0 }
  let [started, ended] = [0, 0]
  const unserved = new UnservedJobs(storage, isIncluded, () => started)
  let wake: (() => void) | undefined
  const observe = (message: unknown): void => {
    const event = message as EngineEvent
    if (event.name === 'worker_online') unserved.serve(event.types)
    if (!('type' in event) || !isIncluded(event.type)) return
    if (event.name === 'started') started++
    const outcome = outcomes.find((name) => name === event.name)
    if (!outcome) return
    drained[outcome]++
    ended++
    wake?.()
  }
  const isOver = async (): Promise<boolean> => ended >= limit || isDrained(storage, isIncluded, () => started)
  subscribe('holdfast', observe)
  await storage.connect()
  try {
    const failure = Promise.withResolvers<never>()
    const running = worker.start()
    running.catch(failure.reject)
    try {
      while (!(await isOver())) {
        const woken = Promise.withResolvers<void>()
        wake = woken.resolve
        const timer = systemClock.after(lookMs, wake)
        await Promise.race([woken.promise, failure.promise])
        timer.cancel()
        const waiting = await unserved.find()
        if (waiting.length > 0) throw noWorker(waiting)
      }
    } finally {
      await worker.stop()
    }
    await running
  } finally {
    unsubscribe('holdfast', observe)
    await storage.disconnect()
  }
  return drained
}

function noWorker(types: readonly string[]): TypeError {
  const what = `drain: jobs of ${types.join(', ')} are due, and no worker takes them.`
  const hint = 'Set the handler before, start the worker of another queue, or leave its jobs out by `types`.'
  return usageError('INVALID_ARGUMENT', `${what} ${hint}`)
}

type IsIncluded = (type: string) => boolean

/**
 * Whether nothing runs and nothing can be claimed. One count tells that, unless a job is due that waits behind another in its
 * group, or for a limit. Then nextDueAt decides. A claim in between shows in the count after it, or as another started attempt.
 * @param startedSoFar number of attempts whose start was observed
 */
async function isDrained(storage: Storage, isIncluded: IsIncluded, startedSoFar: () => number): Promise<boolean> {
  const before = startedSoFar()
  const counted = await look(storage, isIncluded)
  if (counted.processing > 0) return false
  if (counted.due === 0) return true
  const next = await storage.nextDueAt(await claimTypesOf(storage, counted.types))
  if (next !== undefined && next.at <= next.now) return false
  return (await look(storage, isIncluded)).processing === 0 && startedSoFar() === before
}

/** With the limits of their types: a job that waits for one is due, and cannot be claimed. */
async function claimTypesOf(storage: Storage, types: readonly string[]): Promise<ClaimType[]> {
  const stored = await readLimits(storage, (type) => types.includes(type))
  return types.map((type) => {
    const limits = claimLimits(effectiveLimits(stored.get(type), { limits: undefined, release: 0 }))
    return limits ? { type, leaseMs: 1, limits } : { type, leaseMs: 1 }
  })
}

async function look(storage: Storage, isIncluded: IsIncluded) {
  const { types } = await storage.count({})
  const included = types.filter(({ type }) => isIncluded(type))
  const sum = (of: (counts: (typeof types)[number]) => number): number =>
    included.reduce((total, counts) => total + of(counts), 0)
  return {
    types: included.map(({ type }) => type),
    due: sum(({ due }) => due),
    processing: sum(({ states }) => states.processing),
  }
}
