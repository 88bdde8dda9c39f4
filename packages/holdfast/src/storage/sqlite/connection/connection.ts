// An open database, from connect() to disconnect(): a connection that writes, one that reads, and the files beside the database.

import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../../clock.ts'
import { invalidArgument } from '../../../errors.ts'
import type { ListenerRegistry } from '../../listener-registry.ts'
import { Hints } from '../hints/hints.ts'
import { tables } from '../migrations.ts'
import { SqliteMove } from '../rules/move.ts'
import { WorkingSet } from '../rules/working-set.ts'
import { KvTable } from '../verbs/kv.ts'
import { type Durability, openDatabase, openReader } from './database.ts'
import { asTransient } from './errors.ts'
import { Reserve } from './reserve.ts'
import { SqliteTransaction } from './transaction.ts'
import { Writer } from './writer.ts'

export interface ConnectionOptions {
  /** An absolute path, or ':memory:'. */
  readonly path: string
  readonly durability: Durability
  readonly clock: Clock
  /** Longest time that a call waits for another process, in ms. */
  readonly patienceMs: number
  /** Name of this storage among all that share the database. */
  readonly instance: string
  readonly listeners: Pick<ListenerRegistry<never>, 'listenersOf' | 'notify' | 'notifyAll'>
}

interface Side {
  readonly db: DatabaseSync
  readonly set: WorkingSet
  readonly kv: KvTable
}

export class Connection {
  readonly #clock: Clock
  readonly #writes: Side
  /** Undefined of a database in memory, which has one connection. */
  readonly #reads: Side | undefined
  readonly #writer: Writer
  readonly #hints: Hints | undefined
  readonly #reserve: Reserve | undefined

  static async open(options: ConnectionOptions): Promise<Connection> {
    const { path, durability, clock, patienceMs } = options
    const db = await openDatabase(path, durability, clock, patienceMs)
    let readDb: DatabaseSync | undefined
    try {
      readDb = path === ':memory:' ? undefined : openReader(path)
      return new Connection(options, db, readDb)
    } catch (error) {
      readDb?.close()
      db.close()
      throw error
    }
  }

  private constructor(options: ConnectionOptions, db: DatabaseSync, readDb: DatabaseSync | undefined) {
    const { path, durability, clock, patienceMs, instance, listeners } = options
    const sideOf = (database: DatabaseSync, isReader = false): Side => ({
      db: database,
      set: new WorkingSet(database, listeners.listenersOf, isReader),
      kv: new KvTable(database),
    })
    this.#clock = clock
    this.#writes = sideOf(db)
    this.#reads = readDb && sideOf(readDb, true)
    const { set } = this.#writes
    const isInMemory = path === ':memory:'
    const hints = isInMemory
      ? undefined
      : new Hints({
          directory: `${path}-hints`,
          instance,
          clock,
          onSignal: (signal) => listeners.notify(signal),
          onGap: () => listeners.notifyAll(),
          onMoved: () => {
            this.#announce().catch(() => {})
            listeners.notifyAll()
          },
        })
    const reserve = isInMemory ? undefined : new Reserve(`${path}-reserve`)
    this.#hints = hints
    this.#reserve = reserve
    this.#writer = new Writer({
      db,
      set,
      clock,
      patienceMs,
      syncs: durability === 'full' && !isInMemory,
      onCommitted: (signals) => hints?.send(signals, set.foreignCommits),
      makeRoom: () => reserve?.giveUp(),
    })
  }

  /** @param isAdd the call only takes room: it is refused when the disk is full */
  write<T>(run: (move: SqliteMove, kv: KvTable) => T, tx?: SqliteTransaction, isAdd = false): Promise<T> {
    const { kv } = this.#writes
    if (tx === undefined) return this.#writer.run((move) => run(move, kv), isAdd)
    if (!(tx instanceof SqliteTransaction)) throw invalidArgument('tx', 'the argument of transaction()', tx)
    return Promise.resolve(SqliteTransaction.run(tx, this.#writer, (move) => run(move, kv)))
  }

  /** Runs statements on other tables than those of the jobs. @throws TypeError INVALID_ARGUMENT if the function is async */
  writeRows<T>(run: (database: DatabaseSync) => T): Promise<T> {
    const { db } = this.#writes
    return this.#writer.runSoon(() => {
      const answer = run(db)
      // What it does later would not be part of this transaction.
      if (answer instanceof Promise) throw invalidArgument('run', 'a synchronous function', answer)
      return answer
    })
  }

  read<T>(run: (move: SqliteMove, kv: KvTable) => T): Promise<T> | T {
    if (!this.#reads) {
      return this.write((move, kv) => {
        // The statements of a read must see what the calls before it have changed.
        move.set.writeOut()
        move.set.end()
        return run(move, kv)
      })
    }
    const { db, set, kv } = this.#reads
    db.exec('BEGIN')
    try {
      set.begin()
      return run(new SqliteMove(set, this.#clock.now()), kv)
    } catch (error) {
      throw asTransient(error)
    } finally {
      set.forget()
      if (db.isTransaction) db.exec('COMMIT')
    }
  }

  transaction<T>(run: (tx: SqliteTransaction) => Promise<T>): Promise<T> {
    return this.#writer.transaction(run)
  }

  clear(): Promise<void> {
    return this.write(({ set }) => {
      for (const table of tables) this.#writes.db.exec(`DELETE FROM ${table}`)
      set.forget()
    })
  }

  /** Opens the inbox, and resolves once other processes will find it. */
  async listen(): Promise<void> {
    this.#hints?.listen()
    if (this.#hints) await this.#announce()
  }

  unlisten(): void {
    this.#hints?.unlisten()
  }

  /** Has the reserve again, once there is room for it. */
  makeReserve(): void {
    this.#reserve?.make()
  }

  /** Resolves once no call waits. */
  idle(): Promise<void> {
    return this.#writer.idle()
  }

  close(): void {
    this.#hints?.close()
    this.#reads?.db.close()
    this.#writes.db.close()
  }

  /** Writes to the database, so that other processes look for new inboxes. */
  #announce(): Promise<void> {
    return this.write(({ set }) => void set.statements.announce.run())
  }
}
