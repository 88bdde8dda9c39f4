// The last values of a figure, for the line beside it. A storage keeps no history of its counts, so they begin when this page was
// opened.

import { useRef } from 'preact/hooks'

/** Of a count per 5 s: 15 minutes. */
const mostSamples = 180

export function useSamples(value: number, at: number): readonly number[] {
  const kept = useRef<{ at: number; values: readonly number[] }>({ at: 0, values: [] })
  if (kept.current.at !== at) kept.current = { at, values: [...kept.current.values, value].slice(-mostSamples) }
  return kept.current.values
}
