// The working set of a connection: rows as objects that the rules change, with the life of a transaction around them.
// Invariant: between two transactions nothing stays in memory that another connection may have changed meanwhile.

import type { DatabaseSync } from 'node:sqlite'
import type { Bytes } from '../../storage.ts'
import type { Rows, StoredReport } from '../../rows/job.ts'
import type * as Moves from '../../rules/move.ts'
import type { Listeners } from '../../rules/signals.ts'
import { statementsOf, type Statements } from '../connection/statements.ts'
import { type HeldJob, HeldJobs } from '../fast/held-jobs.ts'
import { DependentRows } from './dependent-rows.ts'
import { GroupRows } from './group-rows.ts'
import type { SqliteGroup } from './group.ts'
import { JobParts } from './job-parts.ts'
import { JobRows } from './job-rows.ts'
import type { SqliteJob } from './job.ts'
import { KeyRows } from './key-rows.ts'
import { OpenClaims } from './open-claims.ts'
import { TypeRows } from './type-rows.ts'
import type { SqliteType } from './type.ts'

/** Numbers that a connection reserves beyond the last one it has taken. */
const numbersAhead = 1_000

export class WorkingSet implements Rows<SqliteType> {
  readonly isReader: boolean
  readonly statements: Statements
  readonly types: TypeRows
  readonly parts: JobParts
  /** Leased jobs that are not in `jobs`. */
  readonly held = new HeldJobs()
  readonly claims: OpenClaims
  readonly jobs: JobRows
  readonly groups: GroupRows
  readonly keys: KeyRows
  readonly dependents: DependentRows
  /** SQLite's data_version: it changes when another connection commits. */
  #version = -1
  /** Number of times that commits of other connections were noticed. */
  foreignCommits = 0
  /** -1: not read. */
  #lastNumber = -1
  /** The stored number: those up to it are this connection's, as long as no other has stored another one. */
  #reserved = -1
  #isReservedByThis = false

  /** @param isReader it only reads */
  constructor(db: DatabaseSync, listenersOf: (name: string) => Listeners, isReader = false) {
    this.isReader = isReader
    this.statements = statementsOf(db)
    this.claims = new OpenClaims(this.statements)
    this.types = new TypeRows(this.statements, listenersOf)
    this.parts = new JobParts(this.statements)
    this.jobs = new JobRows(this, this.statements, this.types, this.parts)
    this.groups = new GroupRows(this.statements, this.types)
    this.keys = new KeyRows(this.statements, this.jobs)
    this.dependents = new DependentRows(this.statements, this.jobs)
  }

  // ── transaction ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** At the start of each transaction: forgets what other connections may have changed. */
  begin(): void {
    const [version] = this.statements.version.get() as unknown as [number]
    if (version === this.#version) return
    const [lastNumber, reserved] = [this.#lastNumber, this.#reserved]
    this.forget()
    // They are still right if the stored number is: the others have taken none.
    this.#lastNumber = lastNumber
    this.#reserved = reserved
    this.#version = version
    this.foreignCommits++
  }

  /** Also after a rollback. */
  forget(): void {
    this.types.forget()
    this.jobs.forget()
    this.held.clear()
    this.claims.forget()
    this.groups.forget()
    this.keys.forget()
    this.dependents.forget()
    this.#lastNumber = -1
    this.#reserved = -1
    this.#isReservedByThis = false
    this.#version = -1
  }

  /** Before a commit: writes everything. */
  end(): void {
    this.jobs.flush()
    this.claims.flush()
    this.groups.flush()
    this.types.write()
    this.dependents.eraseAllOrphans()
    if (this.#lastNumber > this.#reserved) this.#reserve()
    this.jobs.release()
    this.groups.forget()
    this.keys.forget()
    this.dependents.forget()
  }

  /** Before a search of an index that tells which jobs wait and which are leased: all of them are at their places then. */
  writeOut(): void {
    this.jobs.flush()
    this.claims.writeOut()
  }

  /** The end of a job that a fast claim holds. True if the claim was open: its row does not have the lease. */
  takeHeld(held: HeldJob): boolean {
    this.held.take(held)
    return held.claim !== undefined && this.claims.take(held.claim, held.seq)
  }

  get lastNumber(): number {
    if (!this.#isReservedByThis) this.#readNumber()
    return this.#lastNumber
  }

  takeNumber(): number {
    this.#lastNumber = this.lastNumber + 1
    return this.#lastNumber
  }

  #readNumber(): void {
    const [stored] = this.statements.lastNumber.get() as unknown as [number]
    if (stored !== this.#reserved) this.#lastNumber = this.#reserved = stored
    this.#isReservedByThis = true
  }

  /** With numbers to come, so that the next commits need not write the page of the number. Those that are not taken are skipped. */
  #reserve(): void {
    this.#reserved = this.#lastNumber + numbersAhead
    this.statements.setLastNumber.run(this.#reserved)
  }

  // ── jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  add(job: SqliteJob): void {
    this.types.count(job.type, job.state, 1)
    this.jobs.add(job)
  }

  erase(job: SqliteJob): void {
    this.types.count(job.type, job.state, -1)
    this.dependents.orphan(job)
    this.jobs.erase(job)
  }

  // ── what a job asks for (rows/job.ts) ──────────────────────────────────────────────────────────────────────────────

  jobOf(seq: number): SqliteJob | undefined {
    return this.jobs.bySeq(seq)
  }

  groupOf(type: SqliteType, key: string): SqliteGroup {
    return this.groups.of(type, key)
  }

  markOf(type: SqliteType, key: string): Moves.Mark | undefined {
    return this.keys.find(type, key)
  }

  dependentsOf(chain: SqliteJob): Moves.Dependents {
    return this.dependents.of(chain)
  }

  readPayload(seq: number): Bytes {
    return this.jobs.readPayload(seq)
  }

  reportOf(job: SqliteJob): StoredReport {
    return this.parts.reportOf(job)
  }
}
