// The SQLite driver: durable jobs in one file, for the processes of one machine, with nothing to install. The rules of
// storage/rules run on rows, which are read, changed and written in transactions that many calls share.

import { dirname, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { type Clock, systemClock } from '../../clock.ts'
import { resolveOptions } from '../../resolve-options.ts'
import {
  checkClaim,
  checkCountQuery,
  checkExtensions,
  checkListQuery,
  checkNewJobs,
  checkOutcomes,
  checkRecoverRequest,
  checkSweepRequest,
} from '../check.ts'
import { diskFindings, syncFindings } from '../disk-findings.ts'
import { ListenerRegistry } from '../listener-registry.ts'
import { sqliteOptions } from '../options.ts'
import { RefCounted } from '../ref-counted.ts'
import { isPlain } from '../rules/add-plain.ts'
import { add } from '../rules/add.ts'
import { cancel } from '../rules/cancel.ts'
import { claim } from '../rules/claim.ts'
import { extend } from '../rules/extend.ts'
import { get } from '../rules/get.ts'
import { recover } from '../rules/recover.ts'
import { remove } from '../rules/remove.ts'
import { revive } from '../rules/revive.ts'
import type * as Contract from '../storage.ts'
import { sweepFindings, unsweptMs } from '../sweep-findings.ts'
import { Connection } from './connection/connection.ts'
import type { Durability } from './connection/database.ts'
import { openError } from './connection/errors.ts'
import type { SqliteTransaction } from './connection/transaction.ts'
import { fastClaim } from './fast/claim.ts'
import { settleFast } from './fast/settle.ts'
import { hasRowAlone } from './rules/job.ts'
import type { SqliteMove } from './rules/move.ts'
import type { SqliteType } from './rules/type.ts'
import { count } from './verbs/count.ts'
import { type KvTable, SqliteKv } from './verbs/kv.ts'
import { list } from './verbs/list.ts'
import { nextDueAt } from './verbs/next-due-at.ts'
import { pause } from './verbs/pause.ts'
import { hasExpiredFor, sweep } from './verbs/sweep.ts'

/** Options of a SqliteStorage. */
export interface SqliteStorageOptions {
  /** Path of the database file, on a local disk, or ':memory:'. A missing file is created. */
  readonly path: string
  /**
   * What an acknowledged write survives. `full`: a power cut. `relaxed`: the end of every process; a power cut may take the
   * last commits, but the file stays consistent.
   * @default 'full'
   */
  readonly durability?: Durability | undefined
  /** Longest time that one call may take, in ms. @default 5_000 */
  readonly callTimeoutMs?: number | undefined
  /** Clock that the storage reads: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock | undefined
}

/** Ready jobs that a claim reads with one statement, at most. */
const mostPerRead = 1_000

/** Stores jobs in a file of a local disk, for the processes of one machine. */
export class SqliteStorage implements Contract.Storage<SqliteTransaction> {
  readonly driver = 'sqlite'
  readonly features: Contract.StorageFeatures
  readonly settings: Contract.StorageSettings
  readonly kv: SqliteKv
  readonly #listeners = new ListenerRegistry<Connection>((connection) => this.#subscribe(connection))
  readonly #connection: RefCounted<Connection>
  /** Undefined: in memory. */
  readonly #path: string | undefined

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(options: SqliteStorageOptions) {
    const resolved = resolveOptions('SqliteStorage', options, sqliteOptions)
    const { durability, callTimeoutMs, clock = systemClock } = resolved
    sqliteOptions.path.check('SqliteStorage: path', resolved.path)
    const isInMemory = resolved.path === ':memory:'
    // Resolved now: the working directory may change before connect().
    const path = isInMemory ? resolved.path : resolve(resolved.path)
    this.#path = isInMemory ? undefined : path
    const instance = clock.newId()
    this.settings = { callTimeoutMs, createdIndexed: true, openTransactions: 1, exclusiveTransactions: true }
    this.features = {
      transactions: true,
      durable: durability === 'full' && !isInMemory,
      sharedByProcesses: !isInMemory,
      distributed: false,
      searchIndexed: true,
      fleetEvents: false,
    }
    // Less than the engine waits for a call, so that the caller learns the cause, and that nothing was written.
    const patienceMs = 0.9 * callTimeoutMs
    this.#connection = new RefCounted({
      name: 'SQLite',
      open: async () => {
        const opening = Connection.open({ path, durability, clock, patienceMs, instance, listeners: this.#listeners })
        const connection = await opening.catch((error: unknown) => Promise.reject(openError(path, error) as Error))
        this.#listeners.reopen(connection).catch(() => {})
        return connection
      },
      close: (connection) => {
        this.#listeners.closed()
        connection.close()
      },
      idle: (connection) => connection.idle(),
      staysOpen: isInMemory,
    })
    this.kv = new SqliteKv({
      read: (run) => this.#read(({ now }, kv) => run(kv, now)),
      write: (run) => this.#write(({ now }, kv) => run(kv, now)),
    })
  }

  // ── connect ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  connect(): Promise<void> {
    return this.#connection.connect()
  }

  disconnect(): Promise<void> {
    return this.#connection.disconnect()
  }

  clear(): Promise<void> {
    return this.#connection.whileConnected(() => this.#connection.use().clear())
  }

  // ── moves ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async add(jobs: readonly Contract.NewJob[], tx?: SqliteTransaction): Promise<Contract.AddVerdict[]> {
    checkNewJobs(this.driver, jobs)
    const run = (move: SqliteMove): Contract.AddVerdict[] => {
      if (jobs.every((job) => isPlain(job) && hasRowAlone(job))) move.adding = jobs
      else move.set.jobs.prefetch(jobs)
      return add(move, jobs)
    }
    return this.#write(run, tx, true)
  }

  async claim(request: Contract.ClaimRequest): Promise<Contract.Claim> {
    checkClaim(this.driver, request)
    return this.#write((move) => {
      move.slots = Math.min(request.slots, mostPerRead)
      const settled = settleFast(move, request.outcomes ?? [])
      const jobs = fastClaim(move, request)
      return jobs
        ? { jobs, recovered: [], ended: [], settled }
        : { ...claim(move, { ...request, outcomes: [] }), settled }
    })
  }

  async extend(leases: readonly Contract.Extension[]): Promise<Contract.LeaseVerdict[]> {
    checkExtensions(leases)
    return this.#write((move) => {
      move.set.jobs.prefetch(leases)
      return extend(move, leases)
    })
  }

  async settle(outcomes: readonly Contract.Outcome[], tx?: SqliteTransaction): Promise<Contract.SettleVerdict[]> {
    checkOutcomes(this.driver, outcomes)
    return this.#write((move) => settleFast(move, outcomes), tx)
  }

  async recover(request: Contract.RecoverRequest): Promise<Contract.Recovered[]> {
    checkRecoverRequest(request)
    return this.#write((move) => recover(move, request, (type) => move.held(type as SqliteType)))
  }

  async cancel(
    jobs: readonly Contract.JobRef[],
    options: Contract.CancelOptions = {},
  ): Promise<Contract.CancelVerdict[]> {
    return this.#write((move) => cancel(move, jobs, options))
  }

  async revive(
    jobs: readonly Contract.Revival[],
    options: Contract.ReviveOptions<SqliteTransaction> = {},
  ): Promise<Contract.ReviveVerdict[]> {
    return this.#write((move) => revive(move, jobs, options), options.tx)
  }

  async remove(
    jobs: readonly Contract.JobRef[],
    options: Contract.RemoveOptions<SqliteTransaction> = {},
  ): Promise<Contract.RemoveVerdict[]> {
    return this.#write((move) => remove(move, jobs, options), options.tx)
  }

  async pause(request: Contract.PauseRequest): Promise<void> {
    return this.#write((move) => pause(move, request))
  }

  async sweep(request: Contract.SweepRequest): Promise<Contract.Swept> {
    checkSweepRequest(request)
    const connection = this.#connection.use()
    const swept = await connection.write((move, kv) => sweep(move, kv, request))
    connection.makeReserve()
    return swept
  }

  // ── reads ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async get(
    jobs: readonly (Contract.JobRef | Contract.KeyRef)[],
    { parts = [], tx }: Contract.GetOptions<SqliteTransaction> = {},
  ): Promise<(Contract.JobRecord | undefined)[]> {
    // An open transaction excludes every other writer: `lock` has nothing to add.
    if (tx !== undefined) return this.#write((move) => get(move, jobs, parts), tx)
    return this.#read((move) => get(move, jobs, parts))
  }

  async list(query: Contract.ListQuery): Promise<Contract.Page> {
    checkListQuery(query)
    return this.#read((move) => list(move, query))
  }

  async count(query: Contract.CountQuery): Promise<Contract.Counts> {
    checkCountQuery(query)
    return this.#read((move) => count(move, query))
  }

  async diagnose(): Promise<Contract.Finding[]> {
    this.#connection.use()
    const overdue = sweepFindings(await this.#read((move) => hasExpiredFor(move, unsweptMs)))
    if (this.#path === undefined) return overdue
    return [...(await diskFindings(dirname(this.#path))), ...syncFindings(this.features.durable), ...overdue]
  }

  async nextDueAt(types: readonly Contract.ClaimType[]): Promise<Contract.NextDue | undefined> {
    return this.#read((move) => nextDueAt(move, types))
  }

  // ── hints ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async listen(
    topics: readonly Contract.Topic[],
    onSignal: (signal: Contract.Signal) => void,
  ): Promise<Contract.Unlisten> {
    return this.#listeners.listen(this.#connection.use(), topics, onSignal)
  }

  async #subscribe(connection: Connection): Promise<() => void> {
    await connection.listen()
    return () => {
      // A connection has one inbox: it stays if another listener came meanwhile.
      if (!this.#listeners.isOpen) connection.unlisten()
    }
  }

  // ── transactions ───────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Runs a function in a transaction: its statements on `tx.database` and the calls that it gives `tx` are committed
   * together, or rolled back together if it rejects. Every other write waits until it has ended.
   */
  async transaction<T>(run: (tx: SqliteTransaction) => Promise<T>): Promise<T> {
    return this.#connection.use().transaction(run)
  }

  /**
   * Runs statements in a transaction that other calls share, and with it one sync of the disk: it waits some passes of the event loop
   * for them. Resolves after the commit. If the function throws, what it wrote is rolled back, and nothing of the others.
   * @param run synchronous, and may run more than once: when another call of the transaction fails, each runs again by itself. It
   * leaves the tables of the jobs alone
   */
  async write<T>(run: (database: DatabaseSync) => T): Promise<T> {
    return this.#connection.use().writeRows(run)
  }

  async #write<T>(run: (move: SqliteMove, kv: KvTable) => T, tx?: SqliteTransaction, isAdd = false): Promise<T> {
    return this.#connection.use().write(run, tx, isAdd)
  }

  async #read<T>(run: (move: SqliteMove, kv: KvTable) => T): Promise<T> {
    return this.#connection.use().read(run)
  }
}
