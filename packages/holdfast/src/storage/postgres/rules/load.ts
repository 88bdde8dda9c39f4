// Reads what a run wanted, and locks it: the jobs first, in the order of their names, then keys and groups, then the lists
// that these guard. A list is read in a later statement than the lock of what guards it, since what a statement sees is
// older than the locks that it waited for.

import type { Connection, Row } from '../connection/database.ts'
import { pausedOf } from './group.ts'
import type { JobRow } from './job.ts'
import { conflict, type Loaded, type Locked, type Named, nameOf } from './loaded.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import { decodeMore } from '../../rows/more.ts'
import type { Statements } from './statements.ts'
import { arrayOf, encodeText } from './text.ts'
import type { Types } from './types.ts'

export class Loader {
  readonly connection: Connection
  readonly #statements: Statements
  readonly #types: Types
  readonly loaded: Loaded
  readonly #holders: Map<string, Named>
  /** Jobs that a run asks for are only looked at, until it changes one: a claim waits for nobody. */
  readonly #looksFirst: boolean
  readonly #lockTimeoutMs: number | null
  now = NaN

  /**
   * @param holders filled, by name, with those who hold a key and were not known when it was locked
   * @param lockTimeoutMs null: a transaction of somebody else's, who sees to it
   */
  constructor(
    connection: Connection,
    statements: Statements,
    types: Types,
    loaded: Loaded,
    holders: Map<string, Named>,
    looksFirst: boolean,
    lockTimeoutMs: number | null,
  ) {
    this.connection = connection
    this.#statements = statements
    this.#types = types
    this.loaded = loaded
    this.#holders = holders
    this.#looksFirst = looksFirst
    this.#lockTimeoutMs = lockTimeoutMs
  }

  /**
   * True if an earlier call has locked all that is wanted, and it leads to nothing else: nothing is left to read. Else these
   * rows are of no use: what else there is must be locked with them, in its order.
   */
  goesOn({ now, at }: Locked, monotonic: number): boolean {
    const { want, jobs, jobsByName } = this.loaded
    for (const name of want.jobs.keys()) if (!jobsByName.get(name)?.isLocked) return false
    want.jobs.clear()
    for (const job of jobs.values()) if (job) this.#wantNeighbours(job.row)
    if (!want.isEmpty) return false
    this.now = now + Math.floor(monotonic - at)
    return true
  }

  /** The first statement of a call: it tells the time, and locks all that the call names. */
  async begin(): Promise<void> {
    await this.#loadJobs(true)
    await this.load()
  }

  async load(): Promise<void> {
    const { want } = this.loaded
    if (want.types.size > 0) {
      await this.#types.find(this.connection, want.types)
      for (const name of want.types) this.loaded.types.add(name)
    }
    // What was read may name more.
    while (want.jobs.size > 0 || want.seqs.size > 0 || want.locks.size > 0 || want.alone.size > 0) {
      const isLocking = want.locks.size > 0 || want.alone.size > 0
      const locks = !this.#looksFirst || isLocking
      if (isLocking) this.loaded.dropUnlocked()
      for (const [name, job] of want.locks) want.jobs.set(name, job)
      await this.#loadJobs(locks)
    }
    await this.#loadKeys()
    await this.#loadGroups()
    await this.#loadLists()
    want.clear()
  }

  async #loadJobs(locks: boolean): Promise<void> {
    const { want } = this.loaded
    const { read } = this.#statements
    const [jobs, alone, adding, seqs] = [new Map(want.jobs), new Map(want.alone), new Set(want.adding), [...want.seqs]]
    for (const taken of [want.jobs, want.alone, want.adding, want.seqs, want.locks]) taken.clear()
    const values = [...namesOf(jobs.values()), arrayOf(seqs)]
    if (locks) {
      for (const named of [want.keys, want.groups, alone]) values.push(...namesOf(named.values()))
    }
    this.#keepJobs(await (locks ? this.#lock(values) : this.connection.query(read, values)), locks)
    for (const [name, named] of alone) jobs.set(name, named)
    // One that was waited for, and is gone, may have been replaced by another of its name.
    const absent = [...jobs].filter(([name]) => !this.loaded.jobsByName.has(name) && !adding.has(name))
    if (locks && absent.length > 0) {
      const again = namesOf(absent.map(([, named]) => named))
      this.#keepJobs(await this.#lock(['{}', '{}', '{}', '{}', '{}', '{}', '{}', ...again]), true)
    }
    for (const name of jobs.keys()) {
      if (!this.loaded.jobsByName.has(name)) this.loaded.jobsByName.set(name, null)
    }
    for (const seq of seqs) if (!this.loaded.jobs.has(seq)) this.loaded.jobs.set(seq, null)
    await this.#types.findByTid(
      this.connection,
      [...this.loaded.jobs.values()].flatMap((job) => (job ? [Number(job.row[1])] : [])),
    )
  }

  #lock(values: readonly string[]): Promise<Row[]> {
    return this.connection.query(this.#statements.lock, [...values, this.#lockTimeoutMs])
  }

  #keepJobs(rows: readonly Row[], isLocked: boolean): void {
    for (const [now, ...row] of rows) {
      if (Number.isNaN(this.now)) this.now = Number(now)
      if (row[0] === null) continue
      const isWide = row.pop() === 'true'
      // What is locked is as it was when we locked it.
      if (this.loaded.jobs.get(Number(row[0]))?.isLocked) continue
      this.loaded.keepJob(row, isLocked)
      if (isLocked && isWide) this.#wantNeighbours(row)
    }
  }

  /** What a change of this job nearly always asks for. */
  #wantNeighbours(row: JobRow): void {
    const { want, groups, keys } = this.loaded
    const tid = Number(row[1])
    const wantNamed = (map: Map<string, Named>, known: ReadonlyMap<string, unknown>, key: string): void => {
      const name = nameOf(tid, key)
      if (!known.has(name)) map.set(name, { tid, key })
    }
    if (row[6] !== null && Number(row[12]) < stateCodes.completed) wantNamed(want.groups, groups, row[6]!)
    if (row[28] !== null) want.dependents.set(nameOf(tid, row[2]!), { tid, key: row[2]! })
    const key = row[31]?.includes('"key":{') ? decodeMore(row[31]).key : undefined
    if (key) wantNamed(want.keys, keys, encodeText(key.key))
    // One that runs ends now, and its blockers are no longer kept for it. Those of one that waits are for others to end.
    if (Number(row[12]) === stateCodes.processing) this.#wantBlockers(row, want.alone)
  }

  /** @param list where to note them: to be read, or locked */
  #wantBlockers(row: JobRow, list: Map<string, Named>): void {
    if (!row[31]?.includes('"blockers":[')) return
    for (const { ref } of decodeMore(row[31]).blockers ?? []) {
      const tid = this.#types.tidOf(ref.type)
      if (tid === undefined) continue
      const named = { tid, key: encodeText(ref.id) }
      const name = nameOf(tid, named.key)
      if (!this.loaded.jobsByName.get(name)?.isLocked) list.set(name, named)
    }
  }

  /** Jobs of a line or list that the caller has locked by reading it. */
  async keepLocked(rows: readonly Row[]): Promise<void> {
    for (const row of rows) if (!this.loaded.jobs.get(Number(row[0]))?.isLocked) this.loaded.keepJob(row, true)
    await this.#types.findByTid(
      this.connection,
      rows.map(([, tid]) => Number(tid)),
    )
  }

  async #loadKeys(): Promise<void> {
    const { want, keys } = this.loaded
    if (want.keys.size === 0) return
    const rows = await this.connection.query(this.#statements.lockKeys, namesOf(want.keys.values()))
    for (const [tid, key, ...rest] of rows) {
      keys.set(nameOf(Number(tid), key!), rest)
      this.#noteHolder({ tid: Number(tid), key: rest[0]! })
    }
    for (const name of want.keys.keys()) if (!keys.has(name)) keys.set(name, null)
  }

  /** All others lock the job that holds a key before the key: who did not know it would wait for them in a circle. */
  #noteHolder(holder: Named): void {
    const name = nameOf(holder.tid, holder.key)
    if (this.#looksFirst || this.loaded.jobsByName.has(name)) return
    this.#holders.set(name, holder)
    throw conflict
  }

  async #loadGroups(): Promise<void> {
    const { want, groups, members } = this.loaded
    if (want.groups.size === 0) return
    await this.keepGroups(await this.connection.query(this.#statements.lockGroups, namesOf(want.groups.values())))
    for (const [name, group] of want.groups) {
      if (!groups.has(name)) groups.set(name, null)
      if (!members.has(name)) want.members.set(name, { limit: 2, ...group })
    }
  }

  async keepGroups(rows: readonly Row[]): Promise<void> {
    for (const [tid, key, ...rest] of rows) this.loaded.groups.set(nameOf(Number(tid), key!), rest)
  }

  async #loadLists(): Promise<void> {
    const { want, members, chains, dependents } = this.loaded
    if (want.members.size > 0) {
      const wanted = [...want.members.values()]
      const most = arrayOf(wanted.map(({ limit }) => limit))
      const found = gather(await this.connection.query(this.#statements.members, [...namesOf(wanted), most]))
      for (const [name, { limit }] of want.members) {
        const seqs = found.get(name) ?? []
        members.set(name, { seqs, isAll: seqs.length < limit })
      }
    }
    if (want.chains.size > 0) {
      const rows = await this.connection.query(this.#statements.chains, [arrayOf([...want.chains])])
      for (const chain of want.chains) chains.set(chain, [])
      for (const [chain, seq] of rows) (chains.get(Number(chain)) as number[]).push(Number(seq))
    }
    if (want.dependents.size > 0) {
      const found = gather(await this.connection.query(this.#statements.dependents, namesOf(want.dependents.values())))
      for (const name of want.dependents.keys()) dependents.set(name, found.get(name) ?? [])
    }
    if (want.lines.size > 0) await this.loadLines([...want.lines].map(([tid, most]) => ({ tid, most })))
  }

  /** The first due jobs of each type, as far as nobody else has them. */
  async loadLines(wanted: readonly { tid: number; most: number }[]): Promise<void> {
    const { lines, groups } = this.loaded
    const rows = await this.connection.query(this.#statements.line, [
      arrayOf(wanted.map(({ tid }) => tid)),
      arrayOf(wanted.map(({ most }) => most)),
      this.now,
    ])
    await this.keepLocked(rows)
    // Whoever runs is given their results.
    for (const row of rows) this.#wantBlockers(row, this.loaded.want.jobs)
    const inGroups = rows.filter((row) => row[6] !== null && !groups.has(nameOf(Number(row[1]), row[6]!)))
    if (inGroups.length > 0) {
      const named = inGroups.map((row) => ({ tid: Number(row[1]), key: row[6]! }))
      await this.keepGroups(await this.connection.query(this.#statements.lockFreeGroups, namesOf(named)))
    }
    for (const { tid, most } of wanted) {
      const own = rows.filter((row) => Number(row[1]) === tid)
      // One whose group somebody changes just now is passed over, as if it were locked itself.
      const free = own.filter((row) => row[6] === null || groups.has(nameOf(tid, row[6]!)))
      lines.set(tid, { seqs: free.map(([seq]) => Number(seq)), isAll: own.length < most })
    }
  }

  async loadLost(wanted: readonly { tid: number; most: number }[], startedBefore: number | null): Promise<void> {
    const rows = await this.connection.query(this.#statements.lost, [
      arrayOf(wanted.map(({ tid }) => tid)),
      arrayOf(wanted.map(({ most }) => most)),
      this.now,
      startedBefore,
    ])
    await this.keepLocked(rows)
    for (const { tid } of wanted) {
      const own = rows.filter((row) => Number(row[1]) === tid)
      this.loaded.lost.set(
        tid,
        own.map(([seq]) => Number(seq)),
      )
    }
  }

  async loadPauses(tids: readonly number[]): Promise<void> {
    const rows = await this.connection.query(this.#statements.types, [null, arrayOf(tids)])
    for (const [tid, , , since, by] of rows) this.loaded.pauses.set(Number(tid), pausedOf(since!, by!))
  }
}

function namesOf(named: Iterable<Named>): string[] {
  const list = [...named]
  return [arrayOf(list.map(({ tid }) => tid)), arrayOf(list.map(({ key }) => key))]
}

/** Numbers by name. */
function gather(rows: readonly Row[]): Map<string, number[]> {
  const found = new Map<string, number[]>()
  for (const [tid, key, seq] of rows) {
    const name = nameOf(Number(tid), key!)
    const list = found.get(name)
    if (list) list.push(Number(seq))
    else found.set(name, [Number(seq)])
  }
  return found
}
