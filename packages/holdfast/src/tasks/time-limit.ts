// `timeoutMs`: the longest run of a handler, for messages and tasks, on every queue.

import type { Clock } from '../clock.ts'

/**
 * Runs it for at most `timeoutMs`; undefined: for any time. A run that is over its time is abandoned: what it does later is ignored.
 * @param onTimeout aborts the run's signal, and returns the error that the run ends with; it is given what the run returned
 */
export function withinTime<T>(
  clock: Clock,
  timeoutMs: number | undefined,
  onTimeout: (running: unknown) => unknown,
  run: () => T | Promise<T>,
): T | Promise<T> {
  // Not async: most handlers have no limit, and need no promise for it.
  return timeoutMs === undefined ? run() : atMost(clock, timeoutMs, onTimeout, run)
}

async function atMost<T>(
  clock: Clock,
  timeoutMs: number,
  onTimeout: (running: unknown) => unknown,
  run: () => T | Promise<T>,
): Promise<T> {
  const timeout = Promise.withResolvers<never>()
  let running: T | Promise<T> | undefined
  const timer = clock.after(timeoutMs, () => timeout.reject(onTimeout(running)))
  try {
    running = run()
    return await Promise.race([running, timeout.promise])
  } finally {
    timer.cancel()
  }
}
