// Deduplication keys of a run: one for each mode, which all producers use.

import type { DeduplicationOptions } from 'holdfast'

export const modes = ['simple', 'throttle', 'debounce', 'followUp', 'ascending'] as const
export type Mode = (typeof modes)[number]

/** Windows of a throttled and of a debounced key, ms. */
export const windowsMs = { throttle: 1_000, debounce: 250 } as const

/** A job's key is named after its mode. */
export interface Key {
  readonly mode: Mode
  /** For `ascending`. */
  readonly version?: number
}

/** @param version greater with every call, over all processes but for those at the same instant */
export const keyOf = (mode: Mode, version: number): Key => (mode === 'ascending' ? { mode, version } : { mode })

export function deduplicationOf({ mode, version }: Key): DeduplicationOptions {
  if (mode === 'ascending') return { key: mode, mode, version: version! }
  if (mode === 'debounce') return { key: mode, mode, windowMs: windowsMs.debounce, maxWaitMs: 2 * windowsMs.debounce }
  if (mode === 'throttle') return { key: mode, mode, windowMs: windowsMs.throttle }
  return { key: mode, mode }
}
