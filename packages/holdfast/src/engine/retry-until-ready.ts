// Starting on a storage that may be unavailable: one loop for every face. A failure that may pass is retried with backoff; any
// other, such as a missing dependency or a wrong password, ends the start.

import type { Clock } from '../clock.ts'
import { isHoldfastError, type StorageError } from '../errors.ts'
import { engineDefaults } from './defaults.ts'

interface Retrying {
  readonly clock: Clock
  /** Ends the retries. A try under way is finished. */
  readonly signal: AbortSignal
  /** Retries every failure: for callers that have no promise to reject. @default false */
  readonly always?: boolean
  /** Called for each failure that is followed by another try. */
  onFailure(error: Error): void
}

const firstPauseMs = 100

/**
 * Calls `attempt` until it resolves, with pauses of 100 ms doubled up to 5 s, each up to a half shorter by jitter.
 * Tries at least once.
 * @returns false if the signal aborted before a try succeeded
 * @throws what `attempt` rejects with, if another try cannot help
 */
export async function retryUntilReady(
  attempt: () => Promise<unknown>,
  { clock, signal, onFailure, always = false }: Retrying,
): Promise<boolean> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, engineDefaults.longestRetryMs)) {
    try {
      await attempt()
      return true
    } catch (error) {
      if (!always && !mayPass(error)) throw error
      onFailure(error as Error)
    }
    await pause(clock, pauseMs * (1 - clock.random() / 2), signal)
    if (signal.aborted) return false
  }
}

/** Of the network, of a Postgres server that starts up or has no connection left, and of a Redis server that loads its data. */
const passingCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'CONNECT_TIMEOUT',
  '57P03',
  '53300',
])

/** Whether another try may succeed. */
export function mayPass(error: unknown): boolean {
  if (!isHoldfastError(error, 'STORAGE_ERROR')) return false
  const { transient, reason } = error as StorageError
  if (transient === true || reason === 'timeout') return true
  for (let cause: unknown = error; cause !== null && typeof cause === 'object';) {
    const { code, message, transient: passes, cause: next } = cause as Partial<Record<string, unknown>>
    if (passes === true) return true
    if (typeof code === 'string' && passingCodes.has(code)) return true
    if (typeof message === 'string' && /^(LOADING|MASTERDOWN|CLUSTERDOWN) /.test(message)) return true
    cause = next
  }
  return false
}

/** Ends early when the signal aborts. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = clock.after(ms, resolve)
  const end = (): void => resolve()
  signal.addEventListener('abort', end)
  await promise
  timer.cancel()
  // The signal may live as long as the process, and an outage may take many pauses.
  signal.removeEventListener('abort', end)
}
