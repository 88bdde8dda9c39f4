// Runs the rules of the contract (storage/rules) in transactions: reads and locks what a call names, runs the rules, reads what they
// missed and runs them again, then writes what they changed. Two calls that touch the same rows wait for each other. The server
// breaks a deadlock, and the call that it aborts starts over.

import type { Clock } from '../../../clock.ts'
import { StorageError } from '../../../errors.ts'
import type { Connection, Database, OpenTransaction } from '../connection/database.ts'
import { transactionEnded } from '../connection/transaction-ended.ts'
import { isSerializationFailure } from '../connection/errors.ts'
import { encodeEvents } from '../connection/event-messages.ts'
import { encodeHints } from '../connection/hints.ts'
import type { Statements } from '../sql/statements.ts'
import { DepthCounts } from './load-depths.ts'
import { conflict, LoadedRows, type LockedRows, rowsMissing } from './loaded-rows.ts'
import { Loader } from './loader.ts'
import type { OpeningRows } from './load-turns.ts'
import { PostgresMove } from './move.ts'
import { RingCursor } from './ring-cursor.ts'
import type { RowName } from './row-name.ts'
import { arrayOf } from '../sql/text.ts'
import type { TypeRegistry } from './type-registry.ts'
import { WorkingSet } from './working-set.ts'
import { type Send, write } from './write.ts'

export interface RuleCall<T> {
  /** Requests the rows that the call names. */
  readonly want?: (loaded: LoadedRows) => void
  /** For a call that names no rows: its first statements, sent together with that of the loader, which reads the time. */
  readonly open?: (loader: Loader) => OpeningRows
  /** Reads lists, once the time is known. @param opening the answers to `open` */
  readonly prepare?: (loader: Loader, opening: OpeningRows | undefined) => Promise<void>
  readonly rules: (move: PostgresMove) => T
  /** Runs after all else is written. */
  readonly after?: (connection: Connection, move: PostgresMove) => Promise<void>
  /** Jobs that the rules ask for are read without a lock, until the rules change one. @default false */
  readonly locksOnWrite?: boolean
  /** The next call in the transaction is likely to need the same rows, and no others. @default false */
  readonly keepsLocked?: boolean
  /**
   * It inserts one job, and no other row that another transaction could insert as well, or none: a conflict leaves nothing written.
   * @default false
   */
  readonly insertsOneAtMost?: boolean
}

/** A transaction that the user has open. */
export interface JoinedTransaction {
  readonly connection: Connection
  /** Given if the connection cannot refuse a statement that is sent after the end of the transaction. */
  readonly unguarded?: { readonly pipelines: boolean }
  /** Given if this driver commits it. */
  readonly own?: OwnTransaction
}

/** What the calls in a transaction of this driver share. */
export interface OwnTransaction {
  /** Its listeners are notified after the commit. */
  moved(move: PostgresMove): void
  /** The statements of the call have set the lock timeout. */
  afterCommit(effect: () => void): void
  keepLocked(locked: LockedRows): void
  /** What the previous call has locked. Any other call in between makes it stale. */
  takeLocked(): LockedRows | undefined
}

export interface RuleRunnerOptions {
  readonly database: Database
  readonly statements: Statements
  readonly types: TypeRegistry
  readonly clock: Clock
  readonly channel: string
  readonly eventChannel: string
  /** Id of this storage, which ignores its own hints. */
  readonly instance: string
  /** Called after the commit. */
  onMoved(move: PostgresMove): void
}

/** How often a call is attempted, and the longest wait before a retry, in ms. */
const [maxAttempts, maxBackoffMs] = [20, 50]

const savepoint = { name: '', text: 'SAVEPOINT holdfast' }
const rollback = { name: '', text: 'ROLLBACK TO SAVEPOINT holdfast' }
const release = { name: '', text: 'RELEASE SAVEPOINT holdfast' }

/** By name: jobs that turned out to hold a key, to be locked before it in the next attempt. */
type Holders = Map<string, RowName>

interface Attempt<T> {
  readonly answer: T
  readonly move: PostgresMove
  readonly loaded: LoadedRows
}

export class RuleRunner {
  readonly #options: RuleRunnerOptions
  readonly #depths: DepthCounts
  readonly rings = new RingCursor()

  constructor(options: RuleRunnerOptions) {
    this.#options = options
    this.#depths = new DepthCounts(options.clock)
  }

  /** @param joined the user's transaction to run in */
  async run<T>(call: RuleCall<T>, joined?: JoinedTransaction): Promise<T> {
    const holders: Holders = new Map()
    if (joined) return this.#retry(() => this.#runJoined(joined, call, holders), isConflict)
    const begin = (transaction: OpenTransaction) => {
      // `after` runs in between.
      const send: Send = (statement, values) =>
        call.after ? transaction.query(statement, values) : transaction.send(statement, values)
      return this.#attempt(transaction, call, holders, true, { isJoined: false, send })
    }
    const { answer, move } = await this.#retry(
      () => this.#options.database.transaction(begin, { limitsLocks: true, usesIndexes: true }),
      (error) => isConflict(error) || isSerializationFailure(error),
    )
    this.#options.onMoved(move)
    move.send()
    return answer
  }

  /** All or nothing. A savepoint keeps the user's transaction usable after an error. */
  async #runJoined<T>(
    { connection, own, unguarded }: JoinedTransaction,
    call: RuleCall<T>,
    holders: Holders,
  ): Promise<T> {
    const locked = own?.takeLocked()
    // An error ends a transaction of our own anyway: without a savepoint, two round trips are saved.
    if (own && call.insertsOneAtMost) {
      const { answer, move, loaded } = await this.#attempt(connection, call, holders, true, { locked })
      own.moved(move)
      if (call.keepsLocked) own.keepLocked({ loaded, now: move.now, at: this.#options.clock.monotonic() })
      return answer
    }
    await connection.query(savepoint, [])
    let done: Attempt<T>
    try {
      const { isMarked, markTransaction } = this.#options.statements
      if (unguarded) await connection.query(markTransaction, [])
      const beforeWrite = async (): Promise<void> => {
        if (unguarded && (await connection.query(isMarked, []))[0]![0] !== 'true') throw transactionEnded()
      }
      done = await this.#attempt(connection, call, holders, own !== undefined, { locked, beforeWrite })
    } catch (error) {
      await connection.query(rollback, []).catch(() => {})
      await connection.query(release, []).catch(() => {})
      throw error
    }
    await connection.query(release, [])
    own?.moved(done.move)
    return done.answer
  }

  /** @param isOurs this driver commits the transaction */
  async #attempt<T>(
    connection: Connection,
    call: RuleCall<T>,
    holders: Holders,
    isOurs: boolean,
    {
      locked,
      isJoined = true,
      beforeWrite,
      send = (statement, values) => connection.query(statement, values),
    }: {
      /** By the previous call in the transaction. */
      readonly locked?: LockedRows | undefined
      /** The user ends the transaction. */
      readonly isJoined?: boolean
      /** Rejects if nothing may be written any more. */
      readonly beforeWrite?: () => Promise<void>
      readonly send?: Send
    },
  ): Promise<Attempt<T>> {
    const { statements, types, channel, eventChannel } = this.#options
    // This process does not see the commit of a user's transaction: then it acts on the hint as all others do.
    const from = isOurs ? this.#options.instance : undefined
    const { loader, opening } = await this.#load(connection, call, holders, isOurs, isJoined, locked)
    const { loaded } = loader
    await call.prepare?.(loader, opening)
    for (;;) {
      const move = new PostgresMove(new WorkingSet(loaded, types), loader.now)
      try {
        const answer = call.rules(move)
        // `after` may cause hints of its own: they are sent together, at the end.
        const early = call.after ? undefined : encodeHints(move.hintsForOthers(), from)
        await beforeWrite?.()
        const isSent = await write(
          connection,
          send,
          statements,
          move,
          early === undefined ? undefined : [channel, early],
        )
        await call.after?.(connection, move)
        const hints = call.after ? encodeHints(move.hintsForOthers(), from) : early
        if (hints !== undefined && (call.after || !isSent)) await send(statements.notify, [channel, hints])
        const events = encodeEvents(move.eventsForAll())
        if (events.length > 0) await send(statements.publish, [eventChannel, arrayOf(events)])
        return { answer, move, loaded }
      } catch (error) {
        if (error !== rowsMissing) throw error
      }
      await loader.load()
    }
  }

  /** A loader that has read and locked what the call names. */
  async #load<T>(
    connection: Connection,
    call: RuleCall<T>,
    holders: Holders,
    isOurs: boolean,
    isJoined: boolean,
    locked: LockedRows | undefined,
  ): Promise<{ readonly loader: Loader; readonly opening?: OpeningRows }> {
    const { statements, types, clock, database } = this.#options
    const { rings } = this
    const depths = this.#depths
    const loaderOf = (loaded: LoadedRows): Loader => {
      call.want?.(loaded)
      for (const [name, holder] of holders) loaded.wanted.jobs.set(name, holder)
      const lockTimeoutMs = isOurs ? database.lockTimeoutMs : null
      const locksOnWrite = call.locksOnWrite === true
      const locksTypes = !isJoined
      const reads = { connection, statements, types, rings, depths, loaded, holders }
      return new Loader({ ...reads, locksOnWrite, locksTypes, lockTimeoutMs })
    }
    if (locked) {
      const loader = loaderOf(locked.loaded)
      if (loader.reuse(locked, clock.monotonic())) return { loader }
    }
    const loader = loaderOf(new LoadedRows())
    const begun = loader.begin()
    if (!call.open) {
      await begun
      return { loader }
    }
    const opening = call.open(loader)
    // The error of the first statement is the one to report.
    opening.catch(() => {})
    await begun
    return { loader, opening }
  }

  async #retry<T>(attempt: () => Promise<T>, isWorthIt: (error: unknown) => boolean): Promise<T> {
    const { clock } = this.#options
    for (let attempts = 1; ; attempts++) {
      try {
        return await attempt()
      } catch (error) {
        if (!isWorthIt(error)) throw error
        if (attempts === maxAttempts) throw isConflict(error) ? tooManyConflicts() : error
      }
      // With jitter, so that the calls of a deadlock do not meet again.
      await new Promise<void>(
        (resolve) => void clock.after(maxBackoffMs * clock.random() * (attempts / maxAttempts), resolve),
      )
    }
  }
}

const isConflict = (error: unknown): boolean => error === conflict

const tooManyConflicts = (): StorageError =>
  new StorageError(
    `Postgres: serialization failure after ${maxAttempts} attempts. Other transactions kept changing the same jobs; the call was not applied.`,
    { maybeApplied: false, transient: true },
  )
