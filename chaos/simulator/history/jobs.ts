// Views of a history that several checks share. Each is made once per history.

import { isTerminal } from './states.ts'
import type { Entry, EntryOf, History, Violation } from './entries.ts'

const changes = [
  'added',
  'payload',
  'claimed',
  'extended',
  'reported',
  'settled',
  'recovered',
  'ended',
  'vanished',
  'cancelling',
  'revived',
  'moved',
  'unblocked',
  'expiry',
  'gone',
] as const

/** An entry that changes a job, or a lease of it. */
export type JobEntry = EntryOf<(typeof changes)[number]>

const names = new Set<Entry['what']>(changes)

export const isJobEntry = (entry: Entry): entry is JobEntry => names.has(entry.what)

export const keyOf = ({ type, id }: { readonly type: string; readonly id: string }): string => `${type}/${id}`

const views = new WeakMap<History, Map<string, JobEntry[]>>()

/** The changes of each job, in order, over all its lives. */
export function jobsOf(history: History): ReadonlyMap<string, readonly JobEntry[]> {
  let view = views.get(history)
  if (view) return view
  view = new Map()
  for (const entry of history.entries) {
    if (!isJobEntry(entry)) continue
    const key = keyOf(entry)
    const found = view.get(key)
    if (found) found.push(entry)
    else view.set(key, [entry])
  }
  views.set(history, view)
  return view
}

/** Runs a check on the changes of each job. */
export function perJob(history: History, check: (entries: readonly JobEntry[]) => Violation | undefined): Violation[] {
  const found: Violation[] = []
  for (const entries of jobsOf(history).values()) {
    const one = check(entries)
    if (one) found.push(one)
  }
  return found
}

/** Whether the entry ends the life of its job. */
export const endsLife = (entry: JobEntry): boolean =>
  ((entry.what === 'settled' || entry.what === 'recovered') && isTerminal(entry.state)) ||
  entry.what === 'ended' ||
  entry.what === 'gone'

/** Whether the entry ends a lease. */
export const endsLease = (entry: JobEntry): boolean =>
  entry.what === 'settled' || entry.what === 'recovered' || entry.what === 'ended' || entry.what === 'vanished'

export function violation(invariant: string, sentence: string, entries: readonly Entry[]): Violation {
  return { invariant, sentence, entries: entries.slice(-20) }
}

export const isAdd = (entry: Entry): entry is EntryOf<'added'> => entry.what === 'added'
