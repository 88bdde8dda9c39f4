// Options of stop() and run(), in the words that all faces share.

import type { RunOptions as EngineRunOptions } from 'holdfast'
import { resolveAliases } from './aliases.ts'
import { invalidArgument } from './invalid-argument.ts'

export interface StopOptions {
  /** Time that running attempts have to end, in ms. @default 30_000 */
  readonly graceMs?: number | undefined
  /** Alias of `graceMs`. */
  readonly timeout?: number | undefined
}

export interface RunOptions extends StopOptions {
  /** Stops it when it aborts. */
  readonly signal?: AbortSignal | undefined
}

const defaultGraceMs = 30_000

/** @throws TypeError INVALID_ARGUMENT */
export function resolveStopOptions(options: StopOptions = {}): { readonly graceMs: number } {
  const { graceMs } = resolveRunOptions(options, ['graceMs'])
  return { graceMs }
}

/** @throws TypeError INVALID_ARGUMENT */
function resolveRunOptions(
  options: RunOptions = {},
  known: readonly string[] = ['graceMs', 'signal'],
): EngineRunOptions & { readonly graceMs: number } {
  const given = resolveAliases('stop', { ...options })
  const unknown = Object.keys(given).find((key) => !known.includes(key))
  if (unknown !== undefined) throw invalidArgument('options', `one of ${known.join(', ')}`, unknown)
  const { graceMs = defaultGraceMs, signal } = given
  if (!Number.isInteger(graceMs) || (graceMs as number) < 0)
    throw invalidArgument('graceMs', 'an integer >= 0', graceMs)
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw invalidArgument('signal', 'an AbortSignal', signal)
  return { graceMs: graceMs as number, signal }
}

interface Startable {
  start(): Promise<void>
  stop(options: StopOptions): Promise<void>
}

/** run(): starts, and resolves with `ended`, when stop() has ended. @throws as start() */
export async function runUntilStopped(target: Startable, ended: Promise<void>, options?: RunOptions): Promise<void> {
  const { signal, graceMs } = resolveRunOptions(options)
  const stop = (): void => void target.stop({ graceMs })
  signal?.addEventListener('abort', stop, { once: true })
  try {
    if (signal?.aborted) stop()
    else await target.start()
    await ended
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}
