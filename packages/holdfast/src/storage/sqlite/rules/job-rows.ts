// The jobs of a working set: read once, changed in place, and written when a statement must see them, or before a commit.

import type { StatementSync } from 'node:sqlite'
import type { Bytes, JobRef } from '../../storage.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import type { Statements } from '../connection/statements.ts'
import {
  changingCells,
  endingCells,
  fixedCells,
  instant,
  isApart,
  isPlainStart,
  type newCells,
  payloadCell,
  readJob,
  type Row,
  type SqliteJob,
} from './job.ts'
import type { JobParts } from './job-parts.ts'
import { withLease } from './open-claims.ts'
import type { TypeRows } from './type-rows.ts'
import type { SqliteType } from './type.ts'
import type { WorkingSet } from './working-set.ts'

interface NewRow {
  readonly type: SqliteType
  readonly id: string
  readonly cells: ReturnType<typeof newCells>
}

export class JobRows {
  /** It answers what the jobs ask for their chains, groups, keys and dependents. */
  readonly #set: WorkingSet
  readonly #statements: Statements
  readonly #types: TypeRows
  readonly #parts: JobParts
  readonly #bySeq = new Map<number, SqliteJob>()
  /** Read or changed in this transaction. */
  #seen: SqliteJob[] = []
  #dirty: SqliteJob[] = []
  /** Looked up in this transaction without a result. */
  #absent: { type: SqliteType; id: string }[] = []

  constructor(set: WorkingSet, statements: Statements, types: TypeRows, parts: JobParts) {
    this.#set = set
    this.#statements = statements
    this.#types = types
    this.#parts = parts
  }

  // ── read ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The job of this name, even if its time is over. */
  stored({ type: name, id }: JobRef): SqliteJob | undefined {
    const type = this.#types.find(name)
    if (!type) return undefined
    const known = type.jobs.get(id)
    if (known !== undefined) return known ?? undefined
    const row = this.#statements.jobById.get(type.tid, id)
    if (row) return this.ofRow(row as unknown as Row)
    this.#markAbsent(type, id)
    return undefined
  }

  bySeq(seq: number): SqliteJob | undefined {
    const known = this.#bySeq.get(seq)
    if (known) return known
    const row = this.#statements.jobBySeq.get(seq)
    return row && this.ofRow(row as unknown as Row)
  }

  /** Only if it is in memory. */
  known(seq: number): SqliteJob | undefined {
    return this.#bySeq.get(seq)
  }

  /** Reads all jobs that a call names with one statement, instead of one statement for each. */
  prefetch(refs: readonly JobRef[]): void {
    const wanted = new Map<SqliteType, string[]>()
    for (const { type: name, id } of refs) {
      const type = this.#types.find(name)
      if (!type || type.jobs.has(id)) continue
      const ids = wanted.get(type)
      if (ids) ids.push(id)
      else wanted.set(type, [id])
    }
    for (const [type, ids] of wanted) {
      if (ids.length === 1) continue
      const possible = ids.filter(this.#mayExist(type))
      if (possible.length > 0) this.ofRows(this.#statements.jobsById.all(type.tid, JSON.stringify(possible)))
      for (const id of ids) if (!type.jobs.has(id)) this.#markAbsent(type, id)
    }
  }

  /** An id after the last one is new. Ids that are made from the time nearly always are. */
  #mayExist(type: SqliteType): (id: string) => boolean {
    const row = this.#statements.lastId.get(type.tid) as unknown as [string] | undefined
    if (!row) return () => false
    const [last] = row
    // SQLite compares bytes, JavaScript compares code units: for ASCII that is the same.
    const isAscii = Buffer.byteLength(last) === last.length
    return isAscii ? (id) => id <= last : () => true
  }

  /** The job in memory if there is one: it is ahead of its row. */
  ofRow(row: Row): SqliteJob {
    const seq = row[0] as number
    const known = this.#bySeq.get(seq)
    if (known) return known
    const { claims, isReader } = this.#set
    const claim = claims.isEmpty ? undefined : claims.of(seq)
    const job = readJob(this.#set, this.#types.byId(row[1] as number), claim ? withLease(row, claim) : row)
    this.#parts.read(job)
    this.#keep(job)
    // Its row gets the lease.
    if (claim && !isReader && claims.take(claim, seq)) this.touch(job)
    return job
  }

  ofRows(rows: readonly unknown[]): SqliteJob[] {
    return rows.map((row) => this.ofRow(row as Row))
  }

  readPayload(seq: number): Bytes {
    return (this.#statements.payload.get(seq) as unknown as [Bytes])[0]
  }

  // ── change ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  add(job: SqliteJob): void {
    this.#keep(job)
    this.touch(job)
  }

  /** Writes the row of a new job. False: its id is taken, and nothing was written. @param cells of addJobIfNew */
  insert(type: SqliteType, cells: ReturnType<typeof newCells>): boolean {
    // Deleted rows first: the job may have the id of one of them.
    if (this.#dirty.length > 0) this.flush()
    if (this.#statements.addJobIfNew.run(...cells).changes === 0) return false
    // From now on it is there.
    if (type.jobs.size > 0) type.jobs.delete(cells[2] as string)
    return true
  }

  /**
   * The same with one statement for rows with consecutive numbers. False: the id of one is taken, and nothing was written.
   * @param first the number of the first one
   */
  insertAll(statement: StatementSync, rows: readonly NewRow[], first: number): boolean {
    if (this.#dirty.length > 0) this.flush()
    const { changes } = statement.run(...rows.flatMap(({ cells }) => cells))
    if (changes < rows.length) {
      if (changes > 0) this.#statements.eraseJobs.run(first, first + rows.length - 1)
      return false
    }
    for (const { type, id } of rows) if (type.jobs.size > 0) type.jobs.delete(id)
    return true
  }

  erase(job: SqliteJob): void {
    job.isErased = true
    this.#drop(job)
    this.#markAbsent(job.type, job.id)
    this.touch(job)
  }

  touch(job: SqliteJob): void {
    if (job.isDirty) return
    job.isDirty = true
    this.#dirty.push(job)
  }

  #markAbsent(type: SqliteType, id: string): void {
    type.jobs.set(id, null)
    this.#absent.push({ type, id })
  }

  #keep(job: SqliteJob): SqliteJob {
    this.#bySeq.set(job.accepted, job)
    job.type.jobs.set(job.id, job)
    // The rules may change it now.
    if (job.leased) this.#set.held.release(job)
    this.#seen.push(job)
    return job
  }

  #drop(job: SqliteJob): void {
    this.#bySeq.delete(job.accepted)
    if (job.type.jobs.get(job.id) === job) job.type.jobs.delete(job.id)
  }

  // ── write ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Writes what has changed, so that statements see it. */
  flush(): void {
    if (this.#dirty.length === 0) return
    const dirty = this.#dirty
    this.#dirty = []
    // Deleted rows first: a new job may have the id of one of them.
    let hasReports: boolean | undefined
    for (const job of dirty) {
      if (job.isErased && !job.isNew) this.#delete(job, (hasReports ??= this.#parts.hasReports()))
    }
    for (const job of dirty) {
      job.isDirty = false
      if (job.isErased) continue
      this.#write(job)
      this.#seen.push(job)
    }
  }

  /** Before a commit. Jobs in processing stay in memory: their worker will settle them soon. */
  release(): void {
    for (const job of this.#seen) if (job.state !== 'processing' || job.isErased) this.#drop(job)
    this.#seen = []
    for (const { type, id } of this.#absent) if (type.jobs.get(id) === null) type.jobs.delete(id)
    this.#absent = []
    this.#parts.forget()
  }

  forget(): void {
    this.#parts.forget()
    this.#bySeq.clear()
    this.#seen = []
    this.#dirty = []
    this.#absent = []
  }

  #write(job: SqliteJob): void {
    const statements = this.#statements
    if (job.isNew) {
      job.isNew = false
      this.#insert(job)
      if (isApart(job)) statements.setPayload.run(job.accepted, job.payload!)
      this.#parts.add(job)
      return
    }
    const cells = changingCells(job)
    if (job.leased && job.lease!.until < job.type.noLeaseEndBefore) job.type.noLeaseEndBefore = job.lease!.until
    // Known of a job that this process claimed: it stayed in memory since.
    const ending = job.written && endingCells(job.written, cells)
    job.written = cells
    if (ending) statements.endJob.run(...ending, job.accepted)
    else statements.changeJob.run(...cells, job.accepted)
    this.#parts.change(job)
    if (!job.payloadChanged) return
    job.payloadChanged = false
    statements.changePayload.run(payloadCell(job), job.accepted)
    if (isApart(job)) statements.setPayload.run(job.accepted, job.payload!)
    else statements.erasePayload.run(job.accepted)
  }

  #insert(job: SqliteJob): void {
    const { addJob, addPlainJob } = this.#statements
    const start = [...fixedCells(job), payloadCell(job)]
    if (isPlainStart(job)) addPlainJob.run(...start, stateCodes[job.state], instant(job.runAt), job.order)
    else addJob.run(...start, job.groupKey ?? null, job.chainSeq ?? null, ...changingCells(job))
  }

  /** @param hasReports false if no job has one */
  #delete(job: SqliteJob, hasReports: boolean): void {
    this.#statements.eraseJob.run(job.accepted)
    if (isApart(job) || job.payloadChanged) this.#statements.erasePayload.run(job.accepted)
    this.#parts.erase(job, hasReports)
  }
}
