// The rows at hand: read once, changed in place, written when something must be asked of the tables, and before a commit.
// Invariant: between two transactions nothing is kept that another connection may have changed meanwhile.
// Longer than others: what is read and what must be written are two sides of the same few maps.

import type { DatabaseSync } from 'node:sqlite'
import type { Bytes, JobRef, JobState, Paused } from '../../storage.ts'
import type * as Moves from '../../rules/move.ts'
import type { Listeners } from '../../rules/signals.ts'
import type { Rows } from '../../rows/job.ts'
import { markOn } from '../../rows/mark.ts'
import { SqliteGroup } from './group.ts'
import {
  changingCells,
  fixedCells,
  instant,
  isApart,
  isPlainBegin,
  payloadCell,
  readJob,
  type Row,
  type SqliteJob,
} from './job.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import { prepare, type Statements } from '../connection/statements.ts'
import { SqliteType } from './type.ts'

export class Session implements Rows<SqliteType> {
  readonly statements: Statements
  readonly #listenersOf: (name: string) => Listeners
  readonly #types = new Map<string, SqliteType>()
  readonly #typesById = new Map<number, SqliteType>()
  readonly #jobs = new Map<number, SqliteJob>()
  /** Read or changed in this transaction. */
  #seen: SqliteJob[] = []
  #dirty: SqliteJob[] = []
  /** Looked for in this transaction, and not there. */
  #absent: { type: SqliteType; id: string }[] = []
  readonly #counted = new Set<SqliteType>()
  readonly #groups = new Map<string, SqliteGroup>()
  readonly #marks = new Map<string, Moves.Mark | null>()
  /** Names of erased chains that somebody waits for. */
  readonly #orphaned = new Map<string, [tid: number, id: string]>()
  #version = -1
  /** How often others were seen to have written. */
  others = 0
  #lastNumber = -1
  #numberTaken = false

  constructor(db: DatabaseSync, listenersOf: (name: string) => Listeners) {
    this.statements = prepare(db)
    this.#listenersOf = listenersOf
  }

  /** At the start of each transaction: forgets what others may have changed. */
  begin(): void {
    const [version] = this.statements.version.get() as unknown as [number]
    if (version === this.#version) return
    this.forget()
    this.#version = version
    this.others++
  }

  /** After a rollback, too. */
  forget(): void {
    this.#types.clear()
    this.#typesById.clear()
    this.#jobs.clear()
    this.#seen = []
    this.#dirty = []
    this.#absent = []
    this.#counted.clear()
    this.#groups.clear()
    this.#marks.clear()
    this.#orphaned.clear()
    this.#lastNumber = -1
    this.#numberTaken = false
    this.#version = -1
  }

  /** Before a commit. Jobs in processing stay at hand: their worker will settle them soon. */
  end(): void {
    this.flush()
    for (const type of this.#counted) this.#writeType(type)
    this.#counted.clear()
    for (const name of this.#orphaned.keys()) this.#eraseOrphans(name)
    if (this.#numberTaken) this.statements.setLastNumber.run(this.#lastNumber)
    this.#numberTaken = false
    for (const job of this.#seen) if (job.state !== 'processing' || job.isErased) this.#drop(job)
    this.#seen = []
    for (const { type, id } of this.#absent) if (type.jobs.get(id) === null) type.jobs.delete(id)
    this.#absent = []
    this.#groups.clear()
    this.#marks.clear()
    this.#orphaned.clear()
  }

  /** Writes what has changed, so that the tables can be asked. */
  flush(): void {
    if (this.#dirty.length === 0) return
    const dirty = this.#dirty
    this.#dirty = []
    // What goes makes room for what comes under the same name.
    for (const job of dirty) if (job.isErased && !job.isNew) this.#erase(job)
    for (const job of dirty) {
      job.isDirty = false
      if (job.isErased) continue
      this.#write(job)
      this.#seen.push(job)
    }
  }

  // ── numbers, types ─────────────────────────────────────────────────────────────────────────────────────────────────

  get lastNumber(): number {
    if (this.#lastNumber < 0) this.#lastNumber = (this.statements.lastNumber.get() as unknown as [number])[0]
    return this.#lastNumber
  }

  takeNumber(): number {
    this.#lastNumber = this.lastNumber + 1
    this.#numberTaken = true
    return this.#lastNumber
  }

  typeOf(name: string): SqliteType | undefined {
    return this.#types.get(name) ?? this.#typeOfRow(this.statements.typeByName.get(name))
  }

  typeFor(name: string): SqliteType {
    const known = this.typeOf(name)
    if (known) return known
    this.statements.addType.run(name)
    return this.typeOf(name)!
  }

  typeById(tid: number): SqliteType {
    return this.#typesById.get(tid) ?? this.#typeOfRow(this.statements.typeById.get(tid))!
  }

  #typeOfRow(row: unknown): SqliteType | undefined {
    if (row === undefined) return undefined
    const [tid, name, since, by] = row as [number, string, number | null, string | null]
    const type = new SqliteType(tid, name, this.#listenersOf(name), pausedOf(since, by))
    this.#types.set(name, type)
    this.#typesById.set(tid, type)
    return type
  }

  #writeType(type: SqliteType): void {
    if (type.moved.some((count) => count !== 0)) {
      this.statements.countType.run(...type.moved, type.tid)
      type.moved.fill(0)
    }
    if (!type.pauseChanged) return
    this.statements.pauseType.run(type.paused?.since ?? null, type.paused?.by ?? null, type.tid)
    type.pauseChanged = false
  }

  /** A pause is written with the counts. */
  keepPause(type: SqliteType): void {
    this.#counted.add(type)
  }

  // ── jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  stored({ type: name, id }: JobRef): SqliteJob | undefined {
    const type = this.typeOf(name)
    if (!type) return undefined
    const known = type.jobs.get(id)
    if (known !== undefined) return known ?? undefined
    const row = this.statements.jobById.get(type.tid, id)
    if (row) return this.jobOfRow(row as unknown as Row)
    this.#markAbsent(type, id)
    return undefined
  }

  /** Reads all that a call names at once: one statement instead of one for each. */
  lookUp(refs: readonly JobRef[]): void {
    const wanted = new Map<SqliteType, string[]>()
    for (const { type: name, id } of refs) {
      const type = this.typeOf(name)
      if (!type || type.jobs.has(id)) continue
      const ids = wanted.get(type)
      if (ids) ids.push(id)
      else wanted.set(type, [id])
    }
    for (const [type, ids] of wanted) {
      if (ids.length === 1) continue
      const known = ids.filter(this.#mayBeThere(type))
      if (known.length > 0) this.jobsOfRows(this.statements.jobsById.all(type.tid, JSON.stringify(known)))
      for (const id of ids) if (!type.jobs.has(id)) this.#markAbsent(type, id)
    }
  }

  /** An id behind the last one is new, and those that are made by time nearly all are. */
  #mayBeThere(type: SqliteType): (id: string) => boolean {
    const row = this.statements.lastId.get(type.tid) as unknown as [string] | undefined
    if (!row) return () => false
    const [last] = row
    // The table compares bytes, we compare code units: beside ASCII that is the same.
    const isAscii = Buffer.byteLength(last) === last.length
    return isAscii ? (id) => id <= last : () => true
  }

  jobOf(seq: number): SqliteJob | undefined {
    const known = this.#jobs.get(seq)
    if (known) return known
    const row = this.statements.jobBySeq.get(seq)
    return row && this.jobOfRow(row as unknown as Row)
  }

  /** The job at hand, if there is one: it is ahead of its row. */
  jobOfRow(row: Row): SqliteJob {
    return this.#jobs.get(row[0] as number) ?? this.#keep(readJob(this, this.typeById(row[1] as number), row))
  }

  jobsOfRows(rows: readonly unknown[]): SqliteJob[] {
    return rows.map((row) => this.jobOfRow(row as Row))
  }

  enter(job: SqliteJob): void {
    this.count(job.type, job.state, 1)
    this.#keep(job)
    this.touch(job)
  }

  erase(job: SqliteJob): void {
    this.count(job.type, job.state, -1)
    job.isErased = true
    if (job.dependentCount > 0) this.#orphaned.set(nameOf(job.type.tid, job.id), [job.type.tid, job.id])
    this.#drop(job)
    this.#markAbsent(job.type, job.id)
    this.touch(job)
  }

  touch(job: SqliteJob): void {
    if (job.isDirty) return
    job.isDirty = true
    this.#dirty.push(job)
  }

  count(type: SqliteType, state: JobState, by: number): void {
    type.moved[stateCodes[state]]! += by
    this.#counted.add(type)
  }

  readPayload(seq: number): Bytes {
    return (this.statements.payload.get(seq) as unknown as [Bytes])[0]
  }

  #markAbsent(type: SqliteType, id: string): void {
    type.jobs.set(id, null)
    this.#absent.push({ type, id })
  }

  #keep(job: SqliteJob): SqliteJob {
    this.#jobs.set(job.accepted, job)
    job.type.jobs.set(job.id, job)
    this.#seen.push(job)
    return job
  }

  #drop(job: SqliteJob): void {
    this.#jobs.delete(job.accepted)
    if (job.type.jobs.get(job.id) === job) job.type.jobs.delete(job.id)
  }

  #write(job: SqliteJob): void {
    const { statements } = this
    if (job.isNew) {
      job.isNew = false
      this.#insert(job)
      if (isApart(job)) statements.setPayload.run(job.accepted, job.payload!)
      return
    }
    statements.changeJob.run(...changingCells(job), job.accepted)
    if (!job.payloadChanged) return
    job.payloadChanged = false
    statements.changePayload.run(payloadCell(job), job.accepted)
    if (isApart(job)) statements.setPayload.run(job.accepted, job.payload!)
    else statements.erasePayload.run(job.accepted)
  }

  #insert(job: SqliteJob): void {
    const { addJob, addPlainJob } = this.statements
    const begin = [...fixedCells(job), payloadCell(job)]
    if (isPlainBegin(job)) addPlainJob.run(...begin, stateCodes[job.state], instant(job.runAt), job.order)
    else addJob.run(...begin, job.groupKey ?? null, job.chainSeq ?? null, ...changingCells(job))
  }

  #erase(job: SqliteJob): void {
    this.statements.eraseJob.run(job.accepted)
    if (isApart(job) || job.payloadChanged) this.statements.erasePayload.run(job.accepted)
  }

  // ── groups, keys, dependents ───────────────────────────────────────────────────────────────────────────────────────

  groupOf(type: SqliteType, key: string): SqliteGroup {
    const name = nameOf(type.tid, key)
    let group = this.#groups.get(name)
    if (!group) {
      const row = this.statements.group.get(type.tid, key) as unknown as
        | [number | null, number | null, number | null, string | null]
        | undefined
      const [running, placed, since, by] = row ?? [null, null, null, null]
      group = new SqliteGroup(this, type, key, running ?? undefined, placed ?? undefined, pausedOf(since, by))
      this.#groups.set(name, group)
    }
    return group
  }

  markOf(type: SqliteType, key: string): Moves.Mark | undefined {
    const name = nameOf(type.tid, key)
    const known = this.#marks.get(name)
    if (known !== undefined) return known ?? undefined
    const row = this.statements.key.get(type.tid, key) as unknown as
      | [string, string, 'simple' | 'throttle', number, number | null]
      | undefined
    const mark =
      row &&
      markOn(this, type, {
        key,
        id: row[0],
        token: row[1],
        mode: row[2],
        shared: row[3] === 1,
        until: row[4] ?? Infinity,
      })
    this.#marks.set(name, mark ?? null)
    return mark
  }

  holdKey(type: SqliteType, fields: Omit<Moves.Mark, 'job'>): Moves.Mark {
    const { key, id, token, mode, shared, until } = fields
    const cell = until === Infinity ? null : instant(until)
    this.statements.setKey.run(type.tid, key, id, token, mode, shared ? 1 : 0, cell)
    const mark = markOn(this, type, fields)
    this.#marks.set(nameOf(type.tid, key), mark)
    return mark
  }

  /** Keys whose window is over. */
  sweepKeys(now: number, limit: number): number {
    this.#marks.clear()
    return Number(this.statements.sweepKeys.run(now, limit).changes)
  }

  hasOverdueKey(now: number): boolean {
    return this.statements.overdueKey.get(now) !== undefined
  }

  dropKey(type: SqliteType, key: string): void {
    this.statements.eraseKey.run(type.tid, key)
    this.#marks.set(nameOf(type.tid, key), null)
  }

  dependentsOf(chain: SqliteJob): Moves.Dependents {
    const { statements } = this
    const { tid } = chain.type
    const all = (): SqliteJob[] =>
      (statements.dependents.all(tid, chain.id) as unknown as [number][]).flatMap(([seq]) => this.jobOf(seq) ?? [])
    const change = (by: number, changes: number | bigint): boolean => {
      if (Number(changes) === 0) return false
      chain.dependentCount += by
      this.touch(chain)
      return true
    }
    return {
      get size() {
        return chain.dependentCount
      },
      [Symbol.iterator]: () => all().values(),
      add: (job) => {
        this.#eraseOrphans(nameOf(tid, chain.id))
        return change(1, statements.addDependent.run(tid, chain.id, job.accepted).changes)
      },
      delete: (job) => change(-1, statements.eraseDependent.run(tid, chain.id, job.accepted).changes),
    }
  }

  /** Those who waited for an erased chain of this name: they do not wait for the one that has it now. */
  #eraseOrphans(name: string): void {
    const orphaned = this.#orphaned.get(name)
    if (!orphaned) return
    this.statements.eraseDependents.run(...orphaned)
    this.#orphaned.delete(name)
  }

  /** Those who waited for the chain of this name wait for this one. */
  inheritDependents(chain: SqliteJob, replaced: SqliteJob): void {
    chain.dependentCount = replaced.dependentCount
    this.#orphaned.delete(nameOf(chain.type.tid, chain.id))
  }
}

const nameOf = (tid: number, key: string): string => `${tid}/${key}`

const pausedOf = (since: number | null, by: string | null): Paused | undefined =>
  since === null ? undefined : { since, by: by ?? undefined }
