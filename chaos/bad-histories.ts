// Hand-written histories for the tests of the checks.

import type { Entry, Note } from './entries.ts'
import { type FinalRecord, type History, historyOf } from './history.ts'
import { terminalStates } from './history.ts'

/** The notes in order, by this process, one millisecond apart. */
export function entriesBy(by: string, ...notes: Note[]): Entry[] {
  return notes.map((note, index) => ({ at: index, by, ...note }))
}

export const asked = (id: string, type = 'kept'): Note => ({
  what: 'asked',
  id,
  type,
  kind: type === 'passing' ? 'passing' : 'plain',
  maxAttempts: 3,
  delayMs: 0,
  priority: 0,
})
/** With a user row. */
export const ordered = (id: string): Note => ({ ...asked(id), kind: 'ordered' }) as Note
/** With a delay. */
export const askedFor = (id: string, delayMs: number): Note => ({ ...asked(id), delayMs }) as Note
export const acked = (id: string): Note => ({ what: 'acked', id, status: 'queued' })
export const started = (id: string, fence: string): Note => ({ what: 'started', id, fence, runAt: 0, claimedAt: 0 })
/** With the times of the storage's clock. */
export const startedAt = (id: string, fence: string, runAt: number, claimedAt: number): Note =>
  ({ ...started(id, fence), runAt, claimedAt }) as Note
export const ended = (id: string, fence: string): Note => ({ what: 'ended', id, fence, lines: 0 })
export const completed = (id: string, fence: string): Note => ({
  what: 'settled',
  id,
  fence,
  kind: 'completed',
  verdict: 'settled',
  state: 'completed',
})
export const toRetry = (id: string, fence: string): Note =>
  ({ ...completed(id, fence), kind: 'retry', state: 'failing' }) as Note
export const refused = (id: string, fence: string): Note => ({
  what: 'settled',
  id,
  fence,
  kind: 'completed',
  verdict: 'taken_by_another_worker',
})
export const run = (id: string, fence: string): Note[] => [started(id, fence), ended(id, fence), completed(id, fence)]

/** A claim of one job. @param leaseUntil the earliest end of its lease */
export const claimed = (id: string, sentAt: number, type: string, fence = `w/${id}#1`, leaseUntil?: number): Note => ({
  what: 'claimed',
  type,
  sentAt,
  leaseUntil,
  runs: [{ id, fence }],
})

/** The note at this time. */
export const at = (time: number, by: string, note: Note): Entry => ({ ...note, at: time, by })

/** A record completed by this run, its only attempt. */
export function recordOf(id: string, fence: string, changes: Partial<FinalRecord> = {}): FinalRecord {
  const attempts = [{ fence, outcome: 'completed', state: 'completed' as const }]
  return { type: 'kept', id, state: 'completed', attempt: 1, failures: 0, fence, attempts, ...changes }
}

/** A history with the counts that match its records. */
export function historyWith(entries: readonly Entry[], ...records: FinalRecord[]): History {
  const counts = Object.fromEntries(
    terminalStates.map((state) => [state, records.filter((record) => record.state === state).length]),
  )
  const live = records.filter(({ state }) => !terminalStates.includes(state))
  for (const { state } of live) counts[state] = (counts[state] ?? 0) + 1
  return historyOf(entries, records, counts)
}
