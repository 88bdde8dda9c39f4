// S18: after a failed attempt the job is due as the backoff of its type says.

import type { Invariant } from '../history/entries.ts'
import { keyOf, perJob, violation } from '../history/jobs.ts'

export const backoffIsKept: Invariant = {
  name: 'S18',
  title: 'backoff is kept',
  check: (history) =>
    perJob(history, (entries) => {
      for (const [index, entry] of entries.entries()) {
        if (entry.what !== 'settled' || entry.outcome !== 'retry') continue
        const { failures } = entry
        const backoff = history.types.get(entry.type)?.backoff
        if (!backoff || entry.state !== 'failing') continue
        const { delayMs, factor, maxDelayMs, jitter } = backoff
        const longest = Math.min(delayMs * factor ** (failures - 1), maxDelayMs)
        const waitMs = entry.runAt - entry.at
        if (waitMs >= Math.floor(longest * (1 - jitter)) && waitMs <= Math.ceil(longest)) continue
        const sentence = `${keyOf(entry)} is due ${waitMs} ms after failure ${failures}; the backoff says up to ${longest}`
        return violation('S18', sentence, entries.slice(0, index + 1))
      }
      return undefined
    }),
}
