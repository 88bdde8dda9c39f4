// Reads and locks what a run wants: first the jobs, in the order of their names, then keys and groups, then the lists that these
// guard. A list is read by a later statement than the lock of what guards it: a statement sees a snapshot that is older than
// the locks it has waited for.

import { decodeMore } from '../../rows/more.ts'
import { emptyGroup } from '../../rules/flow.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import type { Connection, Row } from '../connection/database.ts'
import { cell } from '../sql/job-columns.ts'
import type { Statements } from '../sql/statements.ts'
import { arrayOf, encodeText, numbersOf } from '../sql/text.ts'
import { groupStateOf } from './group.ts'
import type { JobRow } from './job.ts'
import { conflict, type LoadedRows, type LockedRows } from './loaded-rows.ts'
import { loadDue, type TypeLimit } from './load-lists.ts'
import { type DepthCounts, loadDepths } from './load-depths.ts'
import { loadBest, loadFlows, loadRing, loadWaiting } from './load-turns.ts'
import { decodeReport } from './report.ts'
import type { RingCursor } from './ring-cursor.ts'
import { nameOf, namesOf, type RowName } from './row-name.ts'
import type { TypeRegistry } from './type-registry.ts'

interface LoaderOptions {
  readonly connection: Connection
  readonly statements: Statements
  readonly types: TypeRegistry
  readonly rings: RingCursor
  readonly depths: DepthCounts
  readonly loaded: LoadedRows
  /** Filled, by name, with jobs that hold a key and were not locked before it. */
  readonly holders: Map<string, RowName>
  /** Jobs are read without a lock until the rules change one: a claim must not wait for locks. */
  readonly locksOnWrite: boolean
  /** False: the transaction is the user's, and may stay open for long. */
  readonly locksTypes: boolean
  /** Null: the transaction is the user's, and so is its lock timeout. */
  readonly lockTimeoutMs: number | null
}

export class Loader {
  readonly connection: Connection
  readonly loaded: LoadedRows
  readonly #options: LoaderOptions
  /** The server's time. NaN until the first statement is answered. */
  now = NaN

  constructor(options: LoaderOptions) {
    this.connection = options.connection
    this.loaded = options.loaded
    this.#options = options
  }

  get statements(): Statements {
    return this.#options.statements
  }

  get types(): TypeRegistry {
    return this.#options.types
  }

  get rings(): RingCursor {
    return this.#options.rings
  }

  get depths(): DepthCounts {
    return this.#options.depths
  }

  /**
   * True if an earlier call has locked all that is wanted, and it has no neighbours: then nothing is left to read. Otherwise the
   * earlier rows are of no use: they must be locked again together with the rest, in lock order.
   */
  reuse({ now, at }: LockedRows, monotonic: number): boolean {
    const { wanted, jobs, jobsByName } = this.loaded
    for (const name of wanted.jobs.keys()) {
      // The insert verifies that a new job is absent.
      if (wanted.adding.has(name)) jobsByName.set(name, null)
      else if (!jobsByName.get(name)?.isLocked) return false
    }
    wanted.jobs.clear()
    wanted.adding.clear()
    for (const job of jobs.values()) if (job) this.wantNeighbours(job.row)
    if (!wanted.isEmpty) return false
    this.now = now + Math.floor(monotonic - at)
    return true
  }

  /** The first statement of a call: reads the time, and locks all that the call names. */
  async begin(): Promise<void> {
    await this.#loadJobs(true)
    await this.load()
  }

  async load(): Promise<void> {
    const { wanted } = this.loaded
    // More is locked now.
    this.loaded.numbers = []
    if (wanted.types.size > 0) {
      await this.#options.types.find(this.connection, wanted.types)
      for (const name of wanted.types) this.loaded.types.add(name)
    }
    // Each round may find that more is needed.
    while (wanted.jobs.size > 0 || wanted.seqs.size > 0 || wanted.locks.size > 0 || wanted.alone.size > 0) {
      const isLocking = wanted.locks.size > 0 || wanted.alone.size > 0
      if (isLocking) this.loaded.dropUnlocked()
      for (const [name, job] of wanted.locks) wanted.jobs.set(name, job)
      await this.#loadJobs(!this.#options.locksOnWrite || isLocking)
    }
    await this.#loadKeys()
    await this.#loadGroups()
    await loadFlows(this, this.#options.locksTypes)
    await loadDepths(this)
    await this.#loadLists()
    wanted.clear()
  }

  async #loadJobs(locks: boolean): Promise<void> {
    const { wanted, jobsByName } = this.loaded
    const [jobs, alone] = [new Map(wanted.jobs), new Map(wanted.alone)]
    const [adding, seqs] = [new Set(wanted.adding), [...wanted.seqs]]
    for (const taken of [wanted.jobs, wanted.alone, wanted.adding, wanted.seqs, wanted.locks]) taken.clear()
    const values = [...namesOf(jobs.values()), arrayOf(seqs)]
    if (locks) {
      for (const names of [wanted.keys, wanted.groups, alone]) values.push(...namesOf(names.values()))
    }
    this.#keepJobs(await (locks ? this.#lock(values) : this.connection.query(this.statements.read, values)), locks)
    for (const [name, job] of alone) jobs.set(name, job)
    // A job that was deleted while the statement waited for its lock may have been replaced by another of its name.
    const absent = [...jobs].filter(([name]) => !jobsByName.has(name) && !adding.has(name))
    if (locks && absent.length > 0) {
      const again = namesOf(absent.map(([, job]) => job))
      this.#keepJobs(await this.#lock(['{}', '{}', '{}', '{}', '{}', '{}', '{}', ...again]), true)
    }
    for (const name of jobs.keys()) if (!jobsByName.has(name)) jobsByName.set(name, null)
    for (const seq of seqs) if (!this.loaded.jobs.has(seq)) this.loaded.jobs.set(seq, null)
    await this.#options.types.findByTid(
      this.connection,
      [...this.loaded.jobs.values()].flatMap((job) => (job ? [Number(job.row[cell.tid])] : [])),
    )
  }

  #lock(values: readonly string[]): Promise<Row[]> {
    return this.connection.query(this.statements.lock, [...values, this.#options.lockTimeoutMs])
  }

  #keepJobs(rows: readonly Row[], isLocked: boolean): void {
    for (const [now, ...row] of rows) {
      const ruled = isLocked ? row.pop() : null
      const watched = isLocked ? row.pop() : null
      if (Number.isNaN(this.now)) {
        this.now = Number(now)
        if (watched) this.loaded.watched = new Set(numbersOf(watched))
        if (ruled) this.loaded.ruled = new Set(numbersOf(ruled))
      }
      if (row[cell.seq] === null) continue
      const isWide = row.pop() === 'true'
      // A locked row cannot have changed since it was locked.
      if (this.loaded.jobs.get(Number(row[cell.seq]))?.isLocked) continue
      this.loaded.keepJob(row, isLocked)
      if (isLocked && isWide) this.wantNeighbours(row)
    }
  }

  /** Requests what a change of this job nearly always needs. */
  wantNeighbours(row: JobRow): void {
    const { wanted, groups, keys } = this.loaded
    const tid = Number(row[cell.tid])
    const wantIn = (list: Map<string, RowName>, known: ReadonlyMap<string, unknown>, key: string): void => {
      const name = nameOf(tid, key)
      if (!known.has(name)) list.set(name, { tid, key })
    }
    const [group, state, more] = [row[cell.grp]!, Number(row[cell.state]), row[cell.more]!]
    if (group !== null && state < stateCodes.completed) wantIn(wanted.groups, groups, group)
    const id = row[cell.id]!
    if (row[cell.dependents] !== null) wanted.dependents.set(nameOf(tid, id), { tid, key: id })
    const key = more?.includes('"key":{') ? decodeMore(more).key : undefined
    if (key) wantIn(wanted.keys, keys, encodeText(key.key))
    if (state !== stateCodes.processing) return
    // A running job ends in this call, and its blockers are no longer kept for it. The blockers of a waiting job end by
    // other calls.
    this.wantBlockers(row, wanted.alone)
    if (this.loaded.ruled.has(tid) && !this.loaded.flows.has(tid)) wanted.flows.add(tid)
  }

  /** Requests the blockers of a job. @param list to add them to: jobs to read, or to lock */
  wantBlockers(row: JobRow, list: Map<string, RowName>): void {
    const more = row[cell.more]!
    if (!more?.includes('"blockers":[')) return
    for (const { ref } of decodeMore(more).blockers ?? []) {
      const tid = this.#options.types.tidOf(ref.type)
      if (tid === undefined) continue
      const key = encodeText(ref.id)
      const name = nameOf(tid, key)
      if (!this.loaded.jobsByName.get(name)?.isLocked) list.set(name, { tid, key })
    }
  }

  /** Keeps jobs of a list that was read with FOR UPDATE. */
  async keepLocked(rows: readonly Row[]): Promise<void> {
    for (const row of rows) {
      if (!this.loaded.jobs.get(Number(row[cell.seq]))?.isLocked) this.loaded.keepJob(row, true)
    }
    await this.#options.types.findByTid(
      this.connection,
      rows.map((row) => Number(row[cell.tid])),
    )
  }

  async #loadKeys(): Promise<void> {
    const { wanted, keys } = this.loaded
    if (wanted.keys.size === 0) return
    const rows = await this.connection.query(this.statements.lockKeys, namesOf(wanted.keys.values()))
    for (const [tid, key, ...rest] of rows) {
      keys.set(nameOf(Number(tid), key!), rest)
      this.#checkHolder({ tid: Number(tid), key: rest[0]! })
    }
    for (const name of wanted.keys.keys()) if (!keys.has(name)) keys.set(name, null)
  }

  /** Every call locks the job that holds a key before the key. A call that did not know the holder starts over: no deadlocks. */
  #checkHolder(holder: RowName): void {
    const name = nameOf(holder.tid, holder.key)
    if (this.#options.locksOnWrite || this.loaded.jobsByName.has(name)) return
    this.#options.holders.set(name, holder)
    throw conflict
  }

  async #loadGroups(): Promise<void> {
    const { wanted, groups, members, waiting } = this.loaded
    if (wanted.groups.size === 0) return
    this.keepGroups(await this.connection.query(this.statements.lockGroups, namesOf(wanted.groups.values())))
    for (const [name, group] of wanted.groups) {
      const row = groups.get(name) ?? null
      groups.set(name, row)
      const { ordered, size, running, turnAt } = row ? groupStateOf(row) : emptyGroup
      if (ordered) {
        if (!members.has(name)) wanted.members.set(name, { limit: 2, ...group })
        // Of an unordered group that is not in the ring, the jobs that could bring it back.
      } else if (turnAt === undefined && size > running && !waiting.has(name)) {
        wanted.waiting.set(name, { limit: 2, ...group })
      }
    }
  }

  /** Keeps groups that were read with FOR UPDATE. */
  keepGroups(rows: readonly Row[]): void {
    for (const [tid, key, ...rest] of rows) this.loaded.groups.set(nameOf(Number(tid), key!), rest)
  }

  async #loadLists(): Promise<void> {
    const { wanted, members, chains, dependents } = this.loaded
    if (wanted.members.size > 0) {
      const groups = [...wanted.members.values()]
      const limits = arrayOf(groups.map(({ limit }) => limit))
      const found = seqsByName(await this.connection.query(this.statements.members, [...namesOf(groups), limits]))
      for (const [name, { limit }] of wanted.members) {
        const seqs = found.get(name) ?? []
        members.set(name, { seqs, isComplete: seqs.length < limit })
      }
    }
    if (wanted.chains.size > 0) {
      const rows = await this.connection.query(this.statements.chains, [arrayOf([...wanted.chains])])
      for (const chain of wanted.chains) chains.set(chain, [])
      for (const [chain, seq] of rows) (chains.get(Number(chain)) as number[]).push(Number(seq))
    }
    if (wanted.dependents.size > 0) {
      const rows = await this.connection.query(this.statements.dependents, namesOf(wanted.dependents.values()))
      const found = seqsByName(rows)
      for (const name of wanted.dependents.keys()) dependents.set(name, found.get(name) ?? [])
    }
    if (wanted.reports.size > 0) {
      const rows = await this.connection.query(this.statements.reports, [arrayOf([...wanted.reports])])
      for (const [seq, report] of rows) this.loaded.reports.set(Number(seq), decodeReport(report!))
    }
    if (wanted.best.size > 0) await loadBest(this, [...wanted.best.values()])
    if (wanted.waiting.size > 0) await loadWaiting(this, [...wanted.waiting.values()])
    if (wanted.ring.size > 0) await loadRing(this, limitsOf(wanted.ring))
    if (wanted.due.size > 0) await loadDue(this, limitsOf(wanted.due))
  }
}

const limitsOf = (wanted: ReadonlyMap<number, number>): TypeLimit[] =>
  [...wanted].map(([tid, limit]) => ({ tid, limit }))

/** From rows of tid, key and seq. */
function seqsByName(rows: readonly Row[]): Map<string, number[]> {
  const found = new Map<string, number[]>()
  for (const [tid, key, seq] of rows) {
    const name = nameOf(Number(tid), key!)
    const list = found.get(name)
    if (list) list.push(Number(seq))
    else found.set(name, [Number(seq)])
  }
  return found
}
