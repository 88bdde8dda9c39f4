// The members of groups in one call: the head of an ordered group, and the best jobs of an unordered one, which are read ahead.

import type { SqliteGroup } from './group.ts'
import type { SqliteJob } from './job.ts'
import type { WorkingSet } from './working-set.ts'

/** Due jobs of a group that the first statement reads. Each later one reads twice as many as the one before. */
const firstRead = 2
const mostPerRead = 1_000
/** Below the rank of every priority. */
const lowest = -1_000

type Entry = [seq: number, runAt: number, rank: number]

interface Ahead {
  /** Those that are due, the best one last. */
  readonly entries: Entry[]
  readonly number: number
  /** No other job of the group is due. */
  readonly isLast: boolean
}

export class Members {
  readonly #set: WorkingSet
  readonly #now: number
  readonly #ahead = new Map<SqliteGroup, Ahead>()

  constructor(set: WorkingSet, now: number) {
    this.#set = set
    this.#now = now
  }

  // ── ordered groups ─────────────────────────────────────────────────────────────────────────────────────────────────

  headOf({ type, key }: SqliteGroup): SqliteJob | undefined {
    const row = this.#set.statements.headOfGroup.get(type.tid, key) as unknown as [seq: number] | undefined
    return row && this.#set.jobs.bySeq(row[0])
  }

  add({ type, groupKey, accepted: seq }: SqliteJob): void {
    this.#set.statements.addMember.run(type.tid, groupKey!, 0, 0, seq, seq)
  }

  remove({ type, groupKey, accepted: seq }: SqliteJob): void {
    this.#set.statements.eraseMember.run(type.tid, groupKey!, 0, 0, seq)
  }

  // ── unordered groups: the jobs write their rows (job-parts.ts) ───────────────────────────────────────────────────────

  bestOf(group: SqliteGroup): SqliteJob | undefined {
    for (;;) {
      const ahead = this.#ahead.get(group)
      const first = ahead && this.#firstOf(ahead)
      if (first) return this.#set.jobs.bySeq(first[0])
      if (ahead?.isLast) return undefined
      this.#ahead.set(group, this.#read(group, ahead ? 2 * ahead.number : firstRead))
    }
  }

  /** Any runAt that has come stands for the others: which of the due jobs was due first makes no difference. */
  firstRunAt(group: SqliteGroup): number | undefined {
    const ahead = this.#ahead.get(group)
    const first = ahead && this.#firstOf(ahead)
    if (first) return first[1]
    let at: number | undefined
    for (const [, runAt] of this.#firstOfRanks(group)) {
      if (runAt <= this.#now) return runAt
      at = Math.min(at ?? Infinity, runAt)
    }
    return at
  }

  /** A job began to wait, and may be better than those that were read; or it is gone, and not in memory any more. */
  readAgain({ membership, group }: SqliteJob): void {
    if (membership === 'unordered') this.#ahead.delete(group as SqliteGroup)
  }

  /** The best entry whose job still waits. */
  #firstOf({ entries }: Ahead): Entry | undefined {
    for (let entry = entries.at(-1); entry; entry = entries.at(-1)) {
      // A job that is not in memory has not changed since it was read.
      const job = this.#set.jobs.known(entry[0])
      if (!job || job.ready === 0) return entry
      entries.pop()
    }
    return undefined
  }

  #read(group: SqliteGroup, number: number): Ahead {
    const { tid } = group.type
    const limit = Math.min(number, mostPerRead)
    const { firstMembers, dueMembers } = this.#set.statements
    this.#set.jobs.flush()
    const first = firstMembers.all(tid, group.key, limit) as unknown as Entry[]
    const later = first.findIndex(([, runAt]) => runAt > this.#now)
    // Nearly always: all of them are due, and one statement is enough.
    if (later < 0) return { entries: first.toReversed(), number, isLast: first.length < limit }
    const found = first.slice(0, later)
    // The others of this rank are due later. Those of the next ranks may be due.
    for (const [rank, runAt] of this.#firstOfRanks(group, first[later]![2])) {
      if (runAt > this.#now) continue
      found.push(...(dueMembers.all(tid, group.key, rank, this.#now, limit - found.length) as unknown as Entry[]))
      if (found.length >= limit) break
    }
    return { entries: found.toReversed(), number, isLast: found.length < limit }
  }

  /** The first job of each priority, the highest first: of those after the given rank. */
  *#firstOfRanks({ type, key }: SqliteGroup, above = lowest): Generator<[rank: number, runAt: number]> {
    this.#set.jobs.flush()
    for (let rank = above; ;) {
      const { firstOfRank } = this.#set.statements
      const first = firstOfRank.get(type.tid, key, rank) as unknown as [rank: number, runAt: number] | undefined
      if (!first) return
      yield first
      rank = first[0]
    }
  }
}
