// L4: once the storage is back, every live worker claims again, of every type; and no fault ends in an unhandled rejection.

import type { Invariant, Violation } from '../history/entries.ts'
import { violation } from '../history/jobs.ts'

export const returns: Invariant = {
  name: 'L4',
  title: 'workers return',
  check(history) {
    const found: Violation[] = []
    const healed = history.entries.find(({ what }) => what === 'healed')
    const live = new Set<string>()
    for (const entry of history.entries) {
      if (entry.what === 'unhandled') found.push(violation('L4', `unhandled: ${entry.message}`, [entry]))
      if (healed && entry.t > healed.t) break
      if (entry.what === 'nodeStarted') live.add(entry.node)
      if (entry.what === 'nodeCrashed' || entry.what === 'nodeStopping') live.delete(entry.node)
    }
    const over = history.entries.findLast(({ what }) => what === 'rested' || what === 'gaveUp')
    if (!healed || !over) return found
    const leaseMs = Math.max(0, ...[...history.types.values()].map((facts) => facts.leaseMs))
    // All slots may be taken by handlers that ignore that they should end, for some leases.
    const until = healed.t + 4 * leaseMs + history.returnMs
    if (over.t < until) return found
    /** Types by worker that it has not claimed since. */
    const missing = new Map([...live].map((node) => [node, new Set(history.types.keys())]))
    for (const entry of history.entries) {
      if (entry.what !== 'claimVerdict' || entry.t < healed.t || entry.t > until) continue
      for (const type of entry.types) missing.get(entry.node)?.delete(type)
    }
    for (const [node, types] of missing) {
      if (types.size === 0) continue
      found.push(violation('L4', `${node} did not claim ${[...types].join(', ')} in ${until - healed.t} ms`, [healed]))
    }
    return found
  },
}
