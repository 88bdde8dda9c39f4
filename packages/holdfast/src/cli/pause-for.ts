// The wait of a command that goes on until it is interrupted.

import type { Host } from './host.ts'

/** Waits, or until the command is interrupted. @returns whether to go on */
export async function pauseFor(host: Pick<Host, 'clock' | 'interruption'>, ms: number): Promise<boolean> {
  const signal = host.interruption()
  if (signal.aborted) return false
  const { promise, resolve } = Promise.withResolvers<void>()
  const end = (): void => resolve()
  const timer = host.clock.after(ms, end)
  signal.addEventListener('abort', end, { once: true })
  await promise
  timer.cancel()
  signal.removeEventListener('abort', end)
  return !signal.aborted
}
