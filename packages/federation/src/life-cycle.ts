// Starting and stopping, in the words that all faces share: start() resolves when ready, run() when ended, stop({ graceMs }).

import type { Clock } from 'holdfast'
import { resolveAliases } from './aliases.ts'
import { invalidArgument } from './invalid-argument.ts'

export interface StopOptions {
  /** Time that running attempts have to end, in ms. @default 30_000 */
  readonly graceMs?: number
  /** Alias of `graceMs`. */
  readonly timeout?: number
}

const defaultGraceMs = 30_000

/** @throws TypeError INVALID_ARGUMENT */
export function resolveStopOptions(options: StopOptions = {}): { readonly graceMs: number } {
  const { graceMs = defaultGraceMs, ...others } = resolveAliases('stop', { ...options })
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw invalidArgument('stop options', 'graceMs', unknown)
  if (!Number.isInteger(graceMs) || (graceMs as number) < 0)
    throw invalidArgument('graceMs', 'an integer >= 0', graceMs)
  return { graceMs: graceMs as number }
}

const [firstRetryMs, longestRetryMs] = [100, 5_000]

export interface RetryOptions {
  readonly clock: Clock
  /** Ends the wait between two attempts, and then the whole. */
  readonly signal: AbortSignal
  onError(error: Error): void
}

/**
 * Runs the attempt until it succeeds, with delays of 100 ms to 5 s between. Resolves without success once the signal aborts.
 * Errors of configuration are thrown at once: no other attempt helps against them.
 */
export async function retryUntilReady(attempt: () => Promise<void>, options: RetryOptions): Promise<void> {
  const { clock, signal, onError } = options
  for (let delayMs = firstRetryMs; !signal.aborted; delayMs = Math.min(2 * delayMs, longestRetryMs)) {
    try {
      return await attempt()
    } catch (error) {
      if (signal.aborted) return
      if (isMisconfigured(error)) throw error
      onError(error as Error)
    }
    await new Promise<void>((resolve) => {
      const timer = clock.after(delayMs, resolve, { keepsAlive: false })
      signal.addEventListener('abort', () => (timer.cancel(), resolve()), { once: true })
    })
  }
}

const misconfigured = ['MIGRATION_PENDING', 'MISSING_DEPENDENCY', 'INVALID_ARGUMENT', 'FEATURE_UNSUPPORTED']

const isMisconfigured = (error: unknown): boolean => misconfigured.includes((error as { code?: string }).code ?? '')
