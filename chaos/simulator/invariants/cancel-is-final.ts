// S9: a job that was told cancelled is, and neither it nor one that is asked to stop is claimed again in that life.

import type { Invariant, Violation } from '../history/entries.ts'
import { isJobEntry, keyOf, violation } from '../history/jobs.ts'

export const cancelIsFinal: Invariant = {
  name: 'S9',
  title: 'cancel is final',
  check(history) {
    const found: Violation[] = []
    /** Jobs that are cancelled, or asked to stop. */
    const stopped = new Map<string, 'cancelled' | 'cancelling'>()
    for (const entry of history.entries) {
      if (isJobEntry(entry)) {
        const key = keyOf(entry)
        if (entry.what === 'added' || entry.what === 'revived' || entry.what === 'gone') stopped.delete(key)
        if (entry.what === 'cancelling') stopped.set(key, 'cancelling')
        if (entry.what === 'ended' && entry.state === 'cancelled') stopped.set(key, 'cancelled')
        if (entry.what === 'claimed' && stopped.has(key)) {
          found.push(violation('S9', `${key} was claimed although it is ${stopped.get(key)}`, [entry]))
        }
        if (entry.what !== 'settled' && entry.what !== 'recovered') continue
        const { state } = entry
        if (stopped.get(key) === 'cancelling' && state !== 'cancelled' && state !== 'completed') {
          found.push(violation('S9', `${key} was asked to stop and is ${state}`, [entry]))
        }
        if (state === 'cancelled') stopped.set(key, 'cancelled')
      } else if (entry.what === 'cancelVerdict' && !entry.chains) {
        const key = keyOf(entry)
        const isTrue = entry.verdict === stopped.get(key)
        const isPromise = entry.verdict === 'cancelled' || entry.verdict === 'cancelling'
        if (isPromise && !isTrue) found.push(violation('S9', `${key} was told ${entry.verdict} and is not`, [entry]))
      }
    }
    return found
  },
}
