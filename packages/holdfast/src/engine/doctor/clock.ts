// The clock of this machine against that of the storage.

import type { Finding } from '../../storage/storage.ts'

const mostSkewMs = 1_000

/** @param now of the storage, which was read between these two local instants */
export function clockFindings(now: number, sentAt: number, answeredAt: number): Finding[] {
  const skewMs = now < sentAt ? sentAt - now : Math.max(0, now - answeredAt)
  if (skewMs <= mostSkewMs) return []
  const which = now < sentAt ? 'ahead of' : 'behind'
  return [
    {
      code: 'clock_skew',
      severity: 'warning',
      sentence: `the clock of this machine is ${Math.round(skewMs)} ms ${which} that of the storage`,
      fix: 'Synchronise the clocks (NTP). The storage decides by its own clock, but times in logs and a `runAt` that is computed here are off.',
    },
  ]
}
