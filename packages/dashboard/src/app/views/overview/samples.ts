// The last totals, for the lines in the tiles. A storage keeps jobs and no history, so they begin when this page was opened.

import { useRef } from 'preact/hooks'
import type { Totals } from '../../../shared/api.ts'

interface Samples {
  readonly due: readonly number[]
  readonly running: readonly number[]
  readonly failed: readonly number[]
}

/** At one count per 5 s: 15 minutes. */
const mostSamples = 180

export function useSamples(totals: Totals, at: number): Samples {
  const kept = useRef<{ at: number; samples: Samples }>({ at: 0, samples: { due: [], running: [], failed: [] } })
  if (kept.current.at !== at) {
    const { due, running, failed } = kept.current.samples
    const add = (values: readonly number[], value: number): number[] => [...values, value].slice(-mostSamples)
    const { states } = totals
    kept.current = {
      at,
      samples: {
        due: add(due, totals.due),
        running: add(running, states.processing),
        failed: add(failed, states.failed),
      },
    }
  }
  return kept.current.samples
}
