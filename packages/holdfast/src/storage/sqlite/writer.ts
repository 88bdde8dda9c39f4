// All that is written goes through here, one transaction at a time. Calls that come while one is under way are committed
// together: one sync of the disk serves them all. If one of them fails, the others are run again without it.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Clock } from '../../clock.ts'
import type { Signal } from '../storage.ts'
import { isBusy, isFull, notApplied } from './errors.ts'
import { SqliteMove } from './move.ts'
import type { Session } from './session.ts'

/** Between two tries to get the lock that another process has, in ms. */
const [shortestWaitMs, longestWaitMs] = [1, 20]

export interface WriterOptions {
  readonly db: DatabaseSync
  readonly session: Session
  readonly clock: Clock
  readonly callTimeoutMs: number
  /** What others should hear of, after the commit. */
  onCommitted(signals: readonly Signal[]): void
  /** Each commit waits for the disk. */
  readonly syncs: boolean
  /** Makes room on a full disk, for what frees some in turn. */
  makeRoom(): void
}

interface Call {
  /** Only takes room: the first to be refused when the disk is full. */
  readonly isAdd: boolean
  readonly run: (move: SqliteMove) => unknown
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

/** A transaction of the user's, with rows of the user's own. */
export class SqliteTransaction {
  /** The connection: statements on it belong to the transaction, until its function has ended. */
  readonly database: DatabaseSync
  #run: (<T>(run: (move: SqliteMove) => T) => T) | undefined

  constructor(database: DatabaseSync, run: <T>(run: (move: SqliteMove) => T) => T) {
    this.database = database
    this.#run = run
  }

  /** @internal */
  static run<T>(tx: SqliteTransaction, run: (move: SqliteMove) => T): T {
    if (!tx.#run) throw new Error('this transaction has ended: wait for what is called in it before its function ends')
    return tx.#run(run)
  }

  /** @internal */
  static end(tx: SqliteTransaction): void {
    tx.#run = undefined
  }
}

export class Writer {
  readonly #options: WriterOptions
  /** Work that needs a transaction of its own, or calls that can share one. */
  readonly #waiting: (Call[] | (() => Promise<void>))[] = []
  #pumping: Promise<void> | undefined
  readonly #beginning: StatementSync
  readonly #committing: StatementSync

  constructor(options: WriterOptions) {
    this.#options = options
    this.#beginning = options.db.prepare('BEGIN IMMEDIATE')
    this.#committing = options.db.prepare('COMMIT')
  }

  run<T>(run: (move: SqliteMove) => T, isAdd = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const call: Call = { isAdd, run, resolve: resolve as Call['resolve'], reject }
      const last = this.#waiting.at(-1)
      if (Array.isArray(last)) last.push(call)
      else this.#waiting.push([call])
      this.#start()
    })
  }

  transaction<T>(run: (tx: SqliteTransaction) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(() => this.#transaction(run).then(resolve, reject))
      this.#start()
    })
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#pumping) await this.#pumping
  }

  #start(): void {
    this.#pumping ??= this.#pump().finally(() => (this.#pumping = undefined))
  }

  async #pump(): Promise<void> {
    // A sync of the disk is worth a turn of the event loop: calls that come together are committed together.
    if (this.#options.syncs) await new Promise<void>((resolve) => this.#options.clock.soon(resolve))
    else await undefined
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      await (Array.isArray(next) ? this.#commit(next) : next())
    }
  }

  /** @param hasRoom room was made on a full disk: another time there is none left */
  async #commit(calls: readonly Call[], hasRoom = false): Promise<void> {
    const { session, clock } = this.#options
    const moves: SqliteMove[] = []
    const answers: unknown[] = []
    try {
      await this.#begin()
      for (const call of calls) {
        const move = new SqliteMove(session, clock.now())
        answers.push(call.run(move))
        moves.push(move)
      }
      session.end()
      this.#committing.run()
    } catch (error) {
      const wasCommitting = answers.length === calls.length
      this.#rollBack()
      return this.#fail(calls, error, wasCommitting, hasRoom)
    }
    calls.forEach(({ resolve }, index) => resolve(answers[index]))
    this.#options.onCommitted(moves.flatMap((move) => move.send()))
  }

  async #fail(calls: readonly Call[], error: unknown, wasCommitting: boolean, hasRoom: boolean): Promise<void> {
    if (isFull(error) && !hasRoom) {
      if (calls.some(({ isAdd }) => !isAdd)) this.#options.makeRoom()
      for (const call of calls) {
        if (call.isAdd) call.reject(notApplied(error))
        else await this.#commit([call], true)
      }
    } else if (calls.length > 1 && !isBusy(error) && !wasCommitting) {
      for (const call of calls) await this.#commit([call], hasRoom)
    } else {
      // A sync that failed may have come through: then nobody can say.
      const known = wasCommitting && !isFull(error) ? error : notApplied(error)
      for (const call of calls) call.reject(known)
    }
  }

  async #transaction<T>(run: (tx: SqliteTransaction) => Promise<T>): Promise<T> {
    const { db, session, clock } = this.#options
    const moves: SqliteMove[] = []
    await this.#begin().catch((error: unknown) => {
      throw notApplied(error)
    })
    const tx = new SqliteTransaction(db, (work) => {
      const move = new SqliteMove(session, clock.now())
      const answer = work(move)
      // The user may look at the tables.
      session.flush()
      moves.push(move)
      return answer
    })
    let answer: T
    try {
      answer = await run(tx)
      SqliteTransaction.end(tx)
      session.end()
      this.#committing.run()
    } catch (error) {
      SqliteTransaction.end(tx)
      this.#rollBack()
      throw error
    }
    this.#options.onCommitted(moves.flatMap((move) => move.send()))
    return answer
  }

  /** Waits for whoever else writes, without holding up this process. */
  async #begin(): Promise<void> {
    const { session, clock, callTimeoutMs } = this.#options
    const deadline = clock.monotonic() + callTimeoutMs
    for (let waitMs = shortestWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
      try {
        this.#beginning.run()
        break
      } catch (error) {
        if (!isBusy(error) || clock.monotonic() >= deadline) throw error
      }
      const jitteredMs = waitMs * (0.5 + clock.random())
      await new Promise<void>((resolve) => void clock.after(jitteredMs, resolve))
    }
    session.begin()
  }

  #rollBack(): void {
    const { db, session } = this.#options
    session.forget()
    // A full disk may have rolled it back already.
    if (db.isTransaction) db.exec('ROLLBACK')
  }
}
