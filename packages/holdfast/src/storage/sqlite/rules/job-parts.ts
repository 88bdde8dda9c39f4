// The rows of a job in other tables: its place, its deadline, its group, its search fields and its report. Few jobs have them, and
// the others pay nothing for them.

import type { StoredReport } from '../../rows/job.ts'
import { logBytesKept, logLinesKept, stateCodes } from '../../rules/job/codes.ts'
import { appendLines, unstoredLines } from '../../rules/job/report.ts'
import { isTerminal } from '../../rules/job/states.ts'
import type { Bytes, Log, LogLine } from '../../storage.ts'
import type { Statements } from '../connection/statements.ts'
import { instant, type SqliteJob } from './job.ts'
import { searchKey, textKey } from './search-keys.ts'

/** Its row in holdfast_places. */
type Place = readonly [state: number, at: number]

/** Undefined of a job that another index lists: nearly every job. */
function placeOf(job: SqliteJob): Place | undefined {
  const { state } = job
  if (state !== 'blocked' && state !== 'failing' && (job.sweepable || !isTerminal(state))) return undefined
  return [stateCodes[state], instant(job.finishedAt ?? job.runAt)]
}

/** Its row in holdfast_members. */
type Member = readonly [rank: number, at: number, order: number]

/** Undefined of a job that is not one of the waiting members of an unordered group. */
const memberOf = (job: SqliteJob): Member | undefined =>
  job.membership === 'unordered' && job.ready === 0 ? [-job.priority, instant(job.runAt), job.order] : undefined

type NewestRow = [number: number, end: number, attempt: number, at: number]
type LineRow = [number: number, attempt: number, at: number, line: Bytes]

export class JobParts {
  readonly #statements: Statements
  /** What is stored of the jobs in memory, by seq. */
  readonly #places = new Map<number, Place>()
  readonly #deadlines = new Map<number, number>()
  readonly #members = new Map<number, Member>()

  constructor(statements: Statements) {
    this.#statements = statements
  }

  // ── written with the job ───────────────────────────────────────────────────────────────────────────────────────────

  /** A job was read: what is stored of it follows from its fields. */
  read(job: SqliteJob): void {
    const place = placeOf(job)
    if (place) this.#places.set(job.accepted, place)
    const member = memberOf(job)
    if (member) this.#members.set(job.accepted, member)
    const { deadlineAt } = job
    if (deadlineAt !== undefined && deadlineAt !== Infinity) this.#deadlines.set(job.accepted, instant(deadlineAt))
  }

  add(job: SqliteJob): void {
    this.read(job)
    const { type, accepted: seq, search } = job
    if (this.#isEmpty() && !search) return
    const place = this.#places.get(seq)
    if (place) this.#statements.addPlace.run(type.tid, ...place, seq)
    const member = this.#members.get(seq)
    if (member) this.#statements.addMember.run(type.tid, job.groupKey!, ...member, seq)
    const deadline = this.#deadlines.get(seq)
    if (deadline !== undefined) this.#statements.addDeadline.run(deadline, seq)
    if (!search) return
    for (const [name, value] of Object.entries(search)) {
      this.#statements.addField.run(type.tid, textKey(name), searchKey(value), seq)
    }
  }

  /** The search fields of a job never change. Its deadline stays until it begins or ends, and it never gets another one. */
  change(job: SqliteJob): void {
    const { accepted: seq } = job
    const place = placeOf(job)
    const member = memberOf(job)
    if (!place && !member && this.#isEmpty()) return
    const stored = this.#places.get(seq)
    if (place?.[0] !== stored?.[0] || place?.[1] !== stored?.[1]) {
      this.#erasePlace(job)
      if (place) {
        this.#places.set(seq, place)
        this.#statements.addPlace.run(job.type.tid, ...place, seq)
      }
    }
    const before = this.#members.get(seq)
    if (member?.[1] !== before?.[1] || member?.[2] !== before?.[2]) {
      this.#eraseMember(job)
      if (member) {
        this.#members.set(seq, member)
        this.#statements.addMember.run(job.type.tid, job.groupKey!, ...member, seq)
      }
    }
    if (job.deadlineAt === undefined) this.#eraseDeadline(seq)
  }

  /** @param hasReports false if no job has one */
  erase(job: SqliteJob, hasReports: boolean): void {
    const { type, accepted: seq, search } = job
    this.#erasePlace(job)
    this.#eraseMember(job)
    this.#eraseDeadline(seq)
    for (const [name, value] of Object.entries(search ?? {})) {
      this.#statements.eraseField.run(type.tid, textKey(name), searchKey(value), seq)
    }
    if (!hasReports || job.attempt === 0) return
    this.#statements.eraseProgress.run(seq)
    this.#statements.eraseLines.run(seq)
  }

  #erasePlace({ type, accepted: seq }: SqliteJob): void {
    const place = this.#places.get(seq)
    if (!place) return
    this.#places.delete(seq)
    this.#statements.erasePlace.run(type.tid, ...place, seq)
  }

  #eraseMember({ type, groupKey, accepted: seq }: SqliteJob): void {
    const member = this.#members.get(seq)
    if (!member) return
    this.#members.delete(seq)
    this.#statements.eraseMember.run(type.tid, groupKey!, ...member)
  }

  #eraseDeadline(seq: number): void {
    const at = this.#deadlines.get(seq)
    if (at === undefined) return
    this.#deadlines.delete(seq)
    this.#statements.eraseDeadline.run(at, seq)
  }

  /** Between two transactions, the jobs in memory are running: they have none of these. */
  forget(): void {
    this.#places.clear()
    this.#deadlines.clear()
    this.#members.clear()
  }

  #isEmpty(): boolean {
    return this.#places.size === 0 && this.#deadlines.size === 0 && this.#members.size === 0
  }

  // ── reports ────────────────────────────────────────────────────────────────────────────────────────────────────────

  hasReports(): boolean {
    return this.#statements.anyReport.get() !== undefined
  }

  report({ accepted: seq }: SqliteJob, progress: Bytes | undefined, lines: readonly LogLine[]): void {
    if (progress !== undefined) this.#statements.setProgress.run(seq, progress)
    if (lines.length > 0) this.#append(seq, lines)
  }

  #append(seq: number, given: readonly LogLine[]): void {
    const { newestLine, addLine, firstLineFrom, eraseLinesBefore } = this.#statements
    const newest = newestLine.get(seq) as unknown as NewestRow | undefined
    const lines = unstoredLines(newest && { attempt: newest[2], at: newest[3] }, given)
    if (lines.length === 0) return
    let [number, end] = newest ? [newest[0] + 1, newest[1]] : [0, 0]
    // Lines that the others of this call displace are counted, but not written.
    const { lines: kept, dropped } = appendLines(undefined, lines)
    for (const { line } of lines.slice(0, dropped)) end += line.byteLength
    number += dropped
    for (const { attempt, at, line } of kept) {
      addLine.run(seq, number++, attempt, at, end, line)
      end += line.byteLength
    }
    // The newest line stays, however long it is.
    const last = number - 1
    const oldest = Math.max(0, number - logLinesKept)
    const first = firstLineFrom.get(seq, oldest, end - logBytesKept) as unknown as [number] | undefined
    eraseLinesBefore.run(seq, Math.min(first?.[0] ?? last, last))
  }

  reportOf({ accepted: seq }: SqliteJob): StoredReport {
    const { progress, lines } = this.#statements
    return {
      get progress(): Bytes | undefined {
        return (progress.get(seq) as unknown as [Bytes] | undefined)?.[0]
      },
      get log(): Log | undefined {
        const rows = lines.all(seq) as unknown as LineRow[]
        if (rows.length === 0) return undefined
        return { lines: rows.map(([, attempt, at, line]) => ({ attempt, at, line })), dropped: rows[0]![0] }
      },
    }
  }
}
