// S11: one live job per id, and per key in mode `simple`. A duplicate names the job that has the id or key.

import { isTerminal } from '../history/states.ts'
import type { EntryOf, Invariant, Violation } from '../history/entries.ts'
import { endsLife, isJobEntry, keyOf, violation } from '../history/jobs.ts'

export const deduplication: Invariant = {
  name: 'S11',
  title: 'deduplication holds',
  check(history) {
    const found: Violation[] = []
    /** Live jobs by id; and by key in mode `simple`. */
    const live = new Map<string, EntryOf<'added'>>()
    const completed = new Set<string>()
    const ended = new Map<string, EntryOf<'added'>>()
    const holders = new Map<string, Set<string>>()
    for (const entry of history.entries) {
      if (isJobEntry(entry)) {
        const id = keyOf(entry)
        const job = entry.what === 'added' ? entry : live.get(id)
        const key = job?.key !== undefined && job.mode === 'simple' ? `${job.type} ${job.key}` : undefined
        if (entry.what === 'added') {
          const isWaiting = entry.over !== undefined && !isTerminal(entry.over) && entry.over !== 'processing'
          if (live.has(id) && !(entry.replaces && isWaiting)) {
            found.push(violation('S11', `${id} was added while a job with its id was live`, [live.get(id)!, entry]))
          }
          if (key) {
            const others = [...(holders.get(key) ?? [])].filter((other) => other !== id)
            if (others.length > 0) found.push(violation('S11', `${id}: ${others[0]} has the key ${key}`, [entry]))
            holders.set(key, new Set([id]))
          }
          live.set(id, entry)
          completed.delete(id)
        } else if (endsLife(entry)) {
          if (key) holders.get(key)?.delete(id)
          if (entry.what !== 'gone') ended.set(id, live.get(id) ?? ended.get(id)!)
          live.delete(id)
          if (entry.what === 'settled' && entry.state === 'completed') completed.add(id)
          else completed.delete(id)
        } else if (entry.what === 'revived') {
          const again = ended.get(id)
          if (again) {
            live.set(id, again)
            if (again.key !== undefined && again.mode === 'simple')
              holders.set(`${again.type} ${again.key}`, new Set([id]))
          }
        }
      } else if (entry.what === 'addVerdict' && entry.verdict === 'duplicate') {
        const standing = `${entry.type}/${entry.standing!.id}`
        const isThere =
          entry.by === 'id'
            ? live.has(standing) || completed.has(standing)
            : entry.mode !== 'simple' || holders.get(`${entry.type} ${entry.key}`)?.has(standing) === true
        if (!isThere)
          found.push(
            violation('S11', `${keyOf(entry)} is told a duplicate of ${standing}, which is not there`, [entry]),
          )
      }
    }
    return found
  },
}
