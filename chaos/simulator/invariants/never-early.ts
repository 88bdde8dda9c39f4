// S14: no job is claimed before its runAt, by the storage's clock.

import type { Invariant } from '../history/entries.ts'
import { keyOf, perJob, violation } from '../history/jobs.ts'

export const neverEarly: Invariant = {
  name: 'S14',
  title: 'never early',
  check(history) {
    const sets = history.entries.filter((entry) => entry.what === 'clockSet')
    // A job that was due once stays so, although the clock was set back.
    const wasDue = (since: number, runAt: number, t: number): boolean =>
      sets.some((set) => set.t >= since && set.t <= t && set.from >= runAt)
    return perJob(history, (entries) => {
      let [runAt, since] = [0, 0]
      for (const [index, entry] of entries.entries()) {
        if (entry.what === 'claimed' && entry.at < runAt && !wasDue(since, runAt, entry.t)) {
          const early = `${keyOf(entry)} was claimed ${runAt - entry.at} ms before its time`
          return violation('S14', early, entries.slice(0, index + 1))
        }
        if (entry.what === 'moved' && entry.verb !== 'add' && entry.verb !== 'revive' && entry.runAt < runAt) {
          return violation(
            'S14',
            `${keyOf(entry)} was made due earlier by a ${entry.verb}`,
            entries.slice(0, index + 1),
          )
        }
        if ('runAt' in entry && entry.runAt !== runAt) [runAt, since] = [entry.runAt, entry.t]
        if (
          (entry.what === 'added' || entry.what === 'settled') &&
          entry.due !== undefined &&
          entry.runAt < entry.due
        ) {
          const early = `${keyOf(entry)} is due ${entry.due - entry.runAt} ms before the time that was asked for`
          return violation('S14', early, entries.slice(0, index + 1))
        }
      }
      return undefined
    })
  },
}
