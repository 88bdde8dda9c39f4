// S3: one call has one effect, however often it is sent. A token adds a job once, and every added job was asked for.

import type { EntryOf, Invariant, Violation } from '../history/entries.ts'
import { keyOf, perJob, violation } from '../history/jobs.ts'

export const oneEffect: Invariant = {
  name: 'S3',
  title: 'one call has one effect',
  check(history) {
    const repeated = perJob(history, (entries) => {
      // A record that is gone or was replaced is forgotten: a repeat of its add is a new job (docs/guarantees.md).
      const tokens = new Set<string>()
      for (const [index, entry] of entries.entries()) {
        if (entry.what === 'gone') tokens.delete(entry.token)
        if (entry.what !== 'added') continue
        if (!tokens.has(entry.token)) tokens.clear()
        if (tokens.has(entry.token)) {
          return violation('S3', `${keyOf(entry)} was added twice by one call`, entries.slice(0, index + 1))
        }
        tokens.add(entry.token)
      }
      return undefined
    })
    return [...repeated, ...unasked(history.entries)]
  },
}

/** Compares the jobs that each call added with what it was told. */
function unasked(entries: Parameters<Invariant['check']>[0]['entries']): Violation[] {
  const added = new Map<number, EntryOf<'added'>[]>()
  const told = new Map<number, EntryOf<'addVerdict'>[]>()
  const known = new Set<string>()
  const missing: EntryOf<'addVerdict'>[] = []
  const found: Violation[] = []
  for (const entry of entries) {
    if (entry.what === 'added') {
      push(added, entry.move, entry)
      known.add(nameOf(entry))
    } else if (entry.what === 'addVerdict') {
      push(told, entry.move, entry)
      const isAdded = entry.verdict === 'added' || entry.verdict === 'replaced'
      // A debounced add replaces the payload of another job.
      const isOther = entry.verdict === 'replaced' && entry.standing?.token !== entry.token
      if (isAdded && !isOther && !known.has(nameOf(entry))) missing.push(entry)
    }
  }
  for (const entry of missing) {
    // A later item of the same call may have replaced it.
    const isReplaced = told
      .get(entry.move)!
      .some((one) => one.verdict === 'replaced' && keyOf(one) === keyOf(entry) && one.token !== entry.token)
    if (!isReplaced) found.push(violation('S3', `${keyOf(entry)} was told added and is not there`, [entry]))
  }
  for (const [move, jobs] of added) {
    for (const job of jobs) {
      const isAsked = told.get(move)?.some((one) => nameOf(one) === nameOf(job) && /added|replaced/.test(one.verdict))
      if (!isAsked) found.push(violation('S3', `${keyOf(job)} was added and no call was told so`, [job]))
    }
  }
  return found
}

const nameOf = (job: { type: string; id: string; token: string }): string => `${keyOf(job)} ${job.token}`

function push<T>(map: Map<number, T[]>, key: number, value: T): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}
