// For tests: runs all that is due and all that comes of it, then stops. It is the real engine, so delays, order and keys are
// heeded: what waits for its time, or behind one that does, is left for when the clock has gone on.

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { systemClock } from '../clock.ts'
import type { EngineEvent } from '../engine/events.ts'
import { drainOptions } from './options.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { Storage } from '../storage/storage.ts'

/** Tasks, a Queue: whatever works between the two. */
export interface Drainable {
  start(): Promise<unknown>
  stop(): Promise<unknown>
}

export interface DrainOptions {
  /** What it works on. */
  readonly storage: Storage
  /** Job types; of tasks, names of storage queues. @default every type that the storage knows */
  readonly types?: readonly string[]
  /** Attempts after which it stops, though more is due; those under way are finished. @default Infinity */
  readonly limit?: number
}

/** Attempts, by what became of them. */
export interface Drained {
  readonly completed: number
  /** They wait for another attempt, or had one. */
  readonly failing: number
  readonly failed: number
  readonly released: number
}

const outcomes = ['completed', 'failing', 'failed', 'released'] as const

/** Between two looks, if nothing is heard, in ms of the system's clock. */
const lookMs = 5

/**
 * Starts it, waits until nothing can run unless time passes, and stops it. With a `fakeClock()`, move it and drain again.
 * @throws INVALID_ARGUMENT, and whatever start() rejects with
 */
export async function drain(worker: Drainable, options: DrainOptions): Promise<Drained> {
  const { storage, types, limit } = resolveOptions('drain', options, drainOptions)
  const drained = { completed: 0, failing: 0, failed: 0, released: 0 }
  let [started, ended] = [0, 0]
  let wake: (() => void) | undefined
  const heed = (message: unknown): void => {
    const event = message as EngineEvent
    if (!('type' in event) || (types && !types.includes(event.type))) return
    if (event.name === 'started') started++
    const outcome = outcomes.find((name) => name === event.name)
    if (!outcome) return
    drained[outcome]++
    ended++
    wake?.()
  }
  const isOver = async (): Promise<boolean> => ended >= limit || isDrained(storage, types, () => started)
  subscribe('holdfast', heed)
  await storage.connect()
  try {
    const failure = Promise.withResolvers<never>()
    const running = worker.start()
    running.catch(failure.reject)
    try {
      while (!(await isOver())) {
        const heard = Promise.withResolvers<void>()
        wake = heard.resolve
        const timer = systemClock.after(lookMs, wake)
        await Promise.race([heard.promise, failure.promise])
        timer.cancel()
      }
    } finally {
      await worker.stop()
    }
    await running
  } finally {
    unsubscribe('holdfast', heed)
    await storage.disconnect()
  }
  return drained
}

/**
 * Nothing runs, and nothing could be claimed. One count tells that, unless something is due that stands behind another in its
 * group: then it is asked for, and if it was claimed meanwhile, that shows in the count after it, or an attempt was heard of.
 * @param heard how many attempts were, so far
 */
async function isDrained(
  storage: Storage,
  types: readonly string[] | undefined,
  heard: () => number,
): Promise<boolean> {
  const before = heard()
  const counted = await look(storage, types)
  if (counted.processing > 0) return false
  if (counted.due === 0) return true
  const next = await storage.nextDueAt(counted.types.map((type) => ({ type, leaseMs: 1 })))
  if (next !== undefined && next.at <= next.now) return false
  return (await look(storage, types)).processing === 0 && heard() === before
}

async function look(storage: Storage, given: readonly string[] | undefined) {
  const { types } = await storage.count({ types: given })
  const sum = (of: (counts: (typeof types)[number]) => number): number =>
    types.reduce((total, counts) => total + of(counts), 0)
  return {
    types: types.map(({ type }) => type),
    due: sum(({ due }) => due),
    processing: sum(({ states }) => states.processing),
  }
}
