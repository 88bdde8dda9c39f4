// What handlers do: most complete, others throw, snooze, report, add jobs, take long, or ignore that they should end.

import { snooze, UnrecoverableError } from 'holdfast'
import type { Random } from '../../random.ts'
import type { SimulatedNode } from './node.ts'

export interface HandlerRun {
  readonly node: SimulatedNode
  readonly fence: string
  readonly signal: AbortSignal
  progress(value: unknown): void
  log(text: string): void
  /** Adds a job. */
  addJob(): Promise<void>
}

export interface HandlerParts {
  readonly random: Random
  readonly leaseMs: number
  readonly isHealed: () => boolean
}

/** The result, or a directive. */
export type HandlerResult = string | ReturnType<typeof snooze>

/** @throws what the handler throws */
export async function runHandler(run: HandlerRun, { random, leaseMs, isHealed }: HandlerParts): Promise<HandlerResult> {
  const { node, fence, signal } = run
  const sleep = (ms: number): Promise<void> =>
    // Not counted among the timers of the process: they are its user's.
    new Promise((resolve) => void node.clock.after(ms, resolve, { keepsAlive: false }))
  const result = `result-${fence}`
  const choice = random.next()
  await sleep(random.next() < 0.4 ? 0 : random.between(1, 60))
  if (isHealed()) {
    if (choice < 0.05) throw new Error('a late failure')
    return result
  }
  if (choice < 0.45) return result
  if (choice < 0.6) throw new Error('a failure')
  if (choice < 0.65) throw new UnrecoverableError('no use')
  if (choice < 0.71) return snooze({ delayMs: random.integer(10, 500) })
  if (choice < 0.8) {
    run.progress({ part: fence })
    run.log(`half of ${fence}`)
    await sleep(random.between(100, 600))
    return result
  }
  if (choice < 0.86) {
    await run.addJob()
    return result
  }
  const until = node.clock.monotonic() + random.between(0.3, 2.5) * leaseMs
  const isObedient = choice < 0.94
  const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  // Reports all the time: one may be under way when the lease is lost.
  for (let part = 1; node.clock.monotonic() < until; part++) {
    run.progress({ part: `${fence}/${part}` })
    await Promise.race([sleep(random.between(40, 160)), ...(isObedient ? [aborted] : [])])
    if (isObedient) signal.throwIfAborted()
  }
  return result
}
