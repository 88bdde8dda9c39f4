// The SQLite driver: durable jobs in one file, for the processes of one machine, with nothing to install. The rules are
// those of storage/rules; here rows are read, changed and written, in transactions that many calls share.
// Longer than others: it has every verb of the contract, a line or two each, and the opening and closing of files.

import { resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { type Clock, systemClock } from '../../clock.ts'
import { invalidArgument } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { sqliteOptions } from '../options.ts'
import { checkListQuery, checkNewJobs, checkOutcomes } from '../check.ts'
import { RefCounted } from '../ref-counted.ts'
import { ListenerRegistry } from '../listener-registry.ts'
import { add } from '../rules/add.ts'
import { cancel } from '../rules/cancel.ts'
import { claim } from '../rules/claim.ts'
import { extend } from '../rules/extend.ts'
import { get } from '../rules/get.ts'
import { recover } from '../rules/recover.ts'
import { remove } from '../rules/remove.ts'
import { revive } from '../rules/revive.ts'
import { settle } from '../rules/settle.ts'
import type * as Contract from '../storage.ts'
import { count } from './verbs/count.ts'
import { type Durability, openDatabase, openReader } from './connection/database.ts'
import { openError, worthRepeating } from './connection/errors.ts'
import { Hints } from './hints/hints.ts'
import { KvTable, SqliteKv } from './verbs/kv.ts'
import { list } from './verbs/list.ts'
import { tables } from './migrations.ts'
import { SqliteMove } from './rules/move.ts'
import { nextDueAt } from './verbs/next-due-at.ts'
import { pause } from './verbs/pause.ts'
import { Reserve } from './connection/reserve.ts'
import { Session } from './rules/session.ts'
import { sweep } from './verbs/sweep.ts'
import type { SqliteType } from './rules/type.ts'
import { SqliteTransaction, Writer } from './connection/writer.ts'

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

/** Jobs read at once for a claim, whatever it asks for. */
const mostAtOnce = 1_000

/** What is open between connect() and disconnect(). */
interface Open {
  readonly db: DatabaseSync
  readonly session: Session
  readonly writer: Writer
  readonly kv: KvTable
  /** The same as the above where there is but one connection. */
  readonly reader: { readonly db: DatabaseSync; readonly session: Session; readonly kv: KvTable } | undefined
  readonly hints: Hints | undefined
  readonly reserve: Reserve | undefined
}

export class SqliteStorage implements Contract.Storage<SqliteTransaction> {
  readonly driver = 'sqlite'
  readonly features: Contract.StorageFeatures
  readonly settings: Contract.StorageSettings
  readonly kv: SqliteKv
  readonly #path: string
  readonly #durability: Durability
  readonly #clock: Clock
  readonly #instance: string
  readonly #hearing = new ListenerRegistry<Open>((open) => this.#beHeard(open))
  readonly #counted: RefCounted<Open>

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(options: SqliteStorageOptions) {
    const {
      path,
      durability,
      callTimeoutMs,
      clock = systemClock,
    } = resolveOptions('SqliteStorage', options, sqliteOptions)
    sqliteOptions.path.check('SqliteStorage: path', path)
    // Whatever becomes the working directory later.
    this.#path = path === ':memory:' ? path : resolve(path)
    this.#durability = durability
    this.#clock = clock
    this.#instance = clock.newId()
    this.settings = { callTimeoutMs, openTransactions: 1, exclusiveTransactions: true }
    this.features = {
      transactions: true,
      durable: durability === 'full' && !this.#isInMemory,
      sharedByProcesses: !this.#isInMemory,
      distributed: false,
      searchIndexed: false,
      fleetEvents: false,
    }
    this.#counted = new RefCounted({
      name: 'SQLite',
      open: () => this.#openAll().catch((error: unknown) => Promise.reject(openError(this.#path, error) as Error)),
      close: (open) => {
        this.#hearing.closed()
        close(open)
      },
      idle: ({ writer }) => writer.idle(),
      staysOpen: this.#isInMemory,
    })
    this.kv = new SqliteKv({
      read: (run) => this.#read(({ now }, kv) => run(kv, now)),
      write: (run) => this.#write(({ now }) => run(this.#counted.use().kv, now)),
    })
  }

  get #isInMemory(): boolean {
    return this.#path === ':memory:'
  }

  // ── life ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  connect(): Promise<void> {
    return this.#counted.connect()
  }

  disconnect(): Promise<void> {
    return this.#counted.disconnect()
  }

  clear(): Promise<void> {
    return this.#counted.whileConnected(async () => {
      await this.#write(({ session }) => {
        for (const table of tables) this.#counted.use().db.exec(`DELETE FROM ${table}`)
        session.forget()
      })
    })
  }

  async #openAll(): Promise<Open> {
    const { callTimeoutMs } = this.settings
    // Somewhat less than those above wait: so that they hear what was in the way, and that nothing was written.
    const patienceMs = 0.9 * callTimeoutMs
    const db = await openDatabase(this.#path, this.#durability, this.#clock, patienceMs)
    let readDb: DatabaseSync | undefined
    try {
      readDb = this.#isInMemory ? undefined : openReader(this.#path)
      return this.#openOn(db, readDb, patienceMs)
    } catch (error) {
      readDb?.close()
      db.close()
      throw error
    }
  }

  #openOn(db: DatabaseSync, readDb: DatabaseSync | undefined, patienceMs: number): Open {
    const { listenersOf } = this.#hearing
    const session = new Session(db, listenersOf)
    const hints = this.#isInMemory
      ? undefined
      : new Hints({
          directory: `${this.#path}-hints`,
          instance: this.#instance,
          clock: this.#clock,
          onSignal: (signal) => this.#hearing.notify(signal),
          onGap: () => this.#hearing.notifyAll(),
          onMoved: () => {
            beSeen(writer).catch(() => {})
            this.#hearing.notifyAll()
          },
        })
    const reserve = this.#isInMemory ? undefined : new Reserve(`${this.#path}-reserve`)
    const writer = new Writer({
      db,
      session,
      clock: this.#clock,
      patienceMs,
      syncs: this.features.durable,
      onCommitted: (signals) => hints?.send(signals, session.others),
      makeRoom: () => reserve?.giveUp(),
    })
    const reader = readDb && { db: readDb, session: new Session(readDb, listenersOf), kv: new KvTable(readDb) }
    const open = { db, session, writer, kv: new KvTable(db), reader, hints, reserve }
    this.#hearing.reopen(open).catch(() => {})
    return open
  }

  // ── moves ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async add(jobs: readonly Contract.NewJob[], tx?: SqliteTransaction): Promise<Contract.AddVerdict[]> {
    checkNewJobs(this.driver, jobs)
    const run = (move: SqliteMove): Contract.AddVerdict[] => {
      move.session.lookUp(jobs)
      return add(move, jobs)
    }
    return this.#write(run, tx, true)
  }

  async claim(request: Contract.ClaimRequest): Promise<Contract.Claim> {
    if (request.outcomes) checkOutcomes(this.driver, request.outcomes)
    return this.#write((move) => {
      move.slots = Math.min(request.slots, mostAtOnce)
      move.session.lookUp(request.outcomes ?? [])
      return claim(move, request)
    })
  }

  async extend(leases: readonly Contract.Extension[]): Promise<Contract.LeaseVerdict[]> {
    return this.#write((move) => extend(move, leases))
  }

  async settle(outcomes: readonly Contract.Outcome[], tx?: SqliteTransaction): Promise<Contract.SettleVerdict[]> {
    checkOutcomes(this.driver, outcomes)
    const run = (move: SqliteMove): Contract.SettleVerdict[] => {
      move.session.lookUp(outcomes)
      return settle(move, outcomes)
    }
    return this.#write(run, tx)
  }

  async recover(request: Contract.RecoverRequest): Promise<Contract.Recovered[]> {
    return this.#write((move) => recover(move, request, (type) => move.held(type as SqliteType)))
  }

  async cancel(
    jobs: readonly Contract.JobRef[],
    options: Contract.CancelOptions = {},
  ): Promise<Contract.CancelVerdict[]> {
    return this.#write((move) => cancel(move, jobs, options))
  }

  async revive(
    jobs: readonly Contract.JobRef[],
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
    const { kv, reserve } = this.#counted.use()
    const swept = await this.#write((move) => sweep(move, kv, request))
    reserve?.make()
    return swept
  }

  // ── reads ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async get(
    jobs: readonly (Contract.JobRef | Contract.KeyRef)[],
    { parts = [], tx }: Contract.GetOptions<SqliteTransaction> = {},
  ): Promise<(Contract.JobRecord | undefined)[]> {
    // Who has the transaction keeps everybody else from writing: there is nothing more to lock.
    if (tx !== undefined) return this.#write((move) => get(move, jobs, parts), tx)
    return this.#read((move) => get(move, jobs, parts))
  }

  async list(query: Contract.ListQuery): Promise<Contract.Page> {
    checkListQuery(query)
    return this.#read((move) => list(move, query))
  }

  async count(query: Contract.CountQuery): Promise<Contract.Counts> {
    return this.#read((move) => count(move, query))
  }

  async nextDueAt(types: readonly Contract.ClaimType[]): Promise<{ at: number; now: number } | undefined> {
    return this.#read((move) => nextDueAt(move, types))
  }

  // ── hints ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async listen(
    topics: readonly Contract.Topic[],
    onSignal: (signal: Contract.Signal) => void,
  ): Promise<Contract.Unlisten> {
    return this.#hearing.listen(this.#counted.use(), topics, onSignal)
  }

  /** Opens the mailbox, and writes something so that others look for it. */
  async #beHeard({ hints, writer }: Open): Promise<() => void> {
    hints?.listen()
    if (hints) await beSeen(writer)
    return () => {
      // Unless somebody has begun to listen meanwhile: there is but one.
      if (!this.#hearing.isOpen) hints?.unlisten()
    }
  }

  // ── transactions ───────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Runs a function in a transaction: what it does with `tx.database`, and the moves that are given `tx`, happen together
   * or not at all. Others who write wait until it has ended.
   */
  async transaction<T>(run: (tx: SqliteTransaction) => Promise<T>): Promise<T> {
    return this.#counted.use().writer.transaction(run)
  }

  async #write<T>(run: (move: SqliteMove) => T, tx?: SqliteTransaction, isAdd = false): Promise<T> {
    const { writer } = this.#counted.use()
    if (tx === undefined) return writer.run(run, isAdd)
    if (!(tx instanceof SqliteTransaction)) throw invalidArgument('tx', 'the argument of transaction()', tx)
    return SqliteTransaction.run(tx, writer, run)
  }

  async #read<T>(run: (move: SqliteMove, kv: KvTable) => T): Promise<T> {
    const { reader, kv, writer } = this.#counted.use()
    if (!reader) {
      return writer.run((move) => {
        // What the calls before it have changed must be in the tables.
        move.session.end()
        return run(move, kv)
      })
    }
    const { db, session } = reader
    db.exec('BEGIN')
    try {
      session.begin()
      return run(new SqliteMove(session, this.#clock.now()), reader.kv)
    } catch (error) {
      throw worthRepeating(error)
    } finally {
      session.forget()
      if (db.isTransaction) db.exec('COMMIT')
    }
  }
}

const beSeen = (writer: Writer): Promise<void> => writer.run(({ session }) => void session.statements.beSeen.run())

function close({ hints, reader, db }: Open): void {
  hints?.close()
  reader?.db.close()
  db.close()
}
