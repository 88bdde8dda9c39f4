// S13: an outcome, its continuation and the unblocking of dependents are one call; each blocker counts once.

import type { EntryOf, History, Invariant, Violation } from '../history/entries.ts'
import { isJobEntry, type JobEntry, keyOf, violation } from '../history/jobs.ts'

export const chainMovesAreWhole: Invariant = {
  name: 'S13',
  title: 'chain moves are whole',
  check: (history) => [...continuations(history), ...blockers(history)],
}

function continuations({ entries }: History): Violation[] {
  const found: Violation[] = []
  const chains = new Map<string, string>()
  const added = new Set<string>()
  const settled = new Map<string, EntryOf<'settled'>>()
  for (const entry of entries) {
    if (entry.what === 'added') {
      chains.set(keyOf(entry), entry.chain)
      if (entry.chain !== keyOf(entry)) added.add(`${entry.move} ${entry.chain}`)
      const missing = entry.wants - entry.blockers.length
      if (missing > 0)
        found.push(violation('S13', `${keyOf(entry)}: ${missing} of its blockers were forgotten`, [entry]))
    }
    if (entry.what === 'settled') settled.set(`${entry.move} ${keyOf(entry)} ${entry.fence}`, entry)
    // By what the worker asked: its repeats come later, and change nothing.
    if (entry.what !== 'settleVerdict' || entry.kind !== 'continued' || entry.verdict !== 'settled') continue
    const end = settled.get(`${entry.move} ${keyOf(entry)} ${entry.fence}`)
    if (end?.state !== 'completed' || added.has(`${entry.move} ${chains.get(keyOf(entry))}`)) continue
    found.push(violation('S13', `${keyOf(entry)} was continued and its chain has no next job`, [end, entry]))
  }
  return found
}

/** Counts the open blockers of each blocked job, and compares after each call. */
function blockers({ entries }: History): Violation[] {
  const found: Violation[] = []
  const chainOf = new Map<string, string>()
  const done = new Set<string>()
  /** The open blockers of a blocked job; and the number that its record has. */
  const open = new Map<string, Set<string>>()
  const recorded = new Map<string, number>()
  const asked = new Map<string, EntryOf<'added'>>()
  const compare = (last: JobEntry | undefined): void => {
    for (const [key, waits] of open) {
      if (recorded.get(key) === waits.size || !last) continue
      found.push(
        violation('S13', `${key} waits for ${waits.size} chains, its record says ${recorded.get(key)}`, [last]),
      )
      open.delete(key)
    }
  }
  let last: JobEntry | undefined
  for (const entry of entries) {
    if (!isJobEntry(entry)) continue
    if (last && last.move !== entry.move) compare(last)
    last = entry
    const key = keyOf(entry)
    if (entry.what === 'added') {
      chainOf.set(key, entry.chain)
      if (entry.chain === key) {
        done.delete(key)
        // A blocker of the same call is added after the job that waits for it, under an id that may have been used before.
        for (const [other, { move, blockers: named }] of asked) {
          if (move === entry.move && named.includes(key)) open.get(other)?.add(key)
        }
      }
      open.delete(key)
      // A follower waits for the end of another job, whatever that is.
      if (entry.wants > 0) {
        open.set(key, new Set(entry.blockers.filter((chain) => !done.has(chain))))
        recorded.set(key, entry.open)
        asked.set(key, entry)
      }
    } else if (entry.what === 'unblocked') {
      recorded.set(key, entry.open)
    } else if (entry.what === 'settled' && entry.state === 'completed' && entry.outcome === 'completed') {
      const chain = chainOf.get(key)!
      done.add(chain)
      for (const waits of open.values()) waits.delete(chain)
    }
    // The blockers of a revived job are counted anew.
    const isOver = ['settled', 'ended', 'gone', 'revived', 'recovered', 'claimed'].includes(entry.what)
    if (isOver) open.delete(key)
  }
  compare(last)
  return found
}
