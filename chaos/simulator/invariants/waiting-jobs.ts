// The jobs of a type as the checks of order need them: which wait, since when they are due, and which are held.

import type { EntryOf } from '../history/entries.ts'
import { endsLease, endsLife, type JobEntry, keyOf } from '../history/jobs.ts'

export interface TrackedJob {
  readonly added: EntryOf<'added'>
  /** Its place among all jobs ever added. */
  readonly accepted: number
  state: 'waiting' | 'blocked' | 'held' | 'ended'
  runAt: number
  /** End of its lease, while it is held. */
  until: number
}

export class TrackedJobs {
  readonly jobs = new Map<string, TrackedJob>()
  #accepted = 0

  apply(entry: JobEntry): TrackedJob | undefined {
    const key = keyOf(entry)
    if (entry.what === 'added') {
      const state = entry.open > 0 ? 'blocked' : 'waiting'
      this.jobs.set(key, { added: entry, accepted: ++this.#accepted, state, runAt: entry.runAt, until: 0 })
    }
    const job = this.jobs.get(key)
    if (!job) return undefined
    if ('runAt' in entry) job.runAt = entry.runAt
    if (entry.what === 'claimed' || entry.what === 'extended') job.until = entry.until
    if (entry.what === 'claimed') job.state = 'held'
    else if (entry.what === 'unblocked') job.state = entry.open === 0 ? 'waiting' : 'blocked'
    else if (entry.what === 'revived') job.state = 'waiting'
    else if (endsLife(entry)) job.state = 'ended'
    else if (endsLease(entry)) job.state = 'waiting'
    if (entry.what === 'gone') this.jobs.delete(key)
    return job
  }
}

/** Groups the changes of a history by call, in order. */
export function* callsOf<E extends { readonly move: number }>(entries: Iterable<E>): Generator<readonly E[]> {
  let call: E[] = []
  for (const entry of entries) {
    if (call.length > 0 && call[0]!.move !== entry.move) {
      yield call
      call = []
    }
    call.push(entry)
  }
  if (call.length > 0) yield call
}
