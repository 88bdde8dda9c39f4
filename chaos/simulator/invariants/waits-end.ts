// S25: a wait ends by its timeout, and a result that it gives is that of the job.

import type { EntryOf, Invariant, Violation } from '../history/entries.ts'
import { jobsOf, keyOf, violation } from '../history/jobs.ts'

export const waitsEnd: Invariant = {
  name: 'S25',
  title: 'waits end',
  check(history) {
    const found: Violation[] = []
    const open = new Map<number, EntryOf<'waiting'>>()
    for (const entry of history.entries) {
      if (entry.what === 'waiting') open.set(entry.call, entry)
      // Nothing is promised about the time of a process that stands still or ends.
      if (entry.what === 'nodeCrashed' || entry.what === 'nodePaused' || entry.what === 'nodeStopped') {
        for (const [call, wait] of open) if (wait.node === entry.node) open.delete(call)
      }
      if (entry.what !== 'waited') continue
      const wait = open.get(entry.call)
      open.delete(entry.call)
      if (wait && entry.t - wait.t > wait.timeoutMs + history.slackMs) {
        found.push(
          violation('S25', `${keyOf(entry)}: a wait of ${wait.timeoutMs} ms took ${entry.t - wait.t}`, [wait, entry]),
        )
      }
      if (entry.result === undefined) continue
      const changes = jobsOf(history).get(keyOf(entry)) ?? []
      const isTrue = changes.some(
        ({ what, ...change }) => what === 'settled' && 'result' in change && change.result === entry.result,
      )
      if (!isTrue)
        found.push(violation('S25', `${keyOf(entry)}: a wait gave ${entry.result}, which no run stored`, [entry]))
    }
    const last = history.entries.at(-1)?.t ?? 0
    for (const wait of open.values()) {
      if (last - wait.t > wait.timeoutMs + history.slackMs) found.push(violation('S25', 'a wait never ended', [wait]))
    }
    return found
  },
}
