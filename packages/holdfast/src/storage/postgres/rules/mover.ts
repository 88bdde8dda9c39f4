// Runs the rules of the contract (storage/rules) in transactions: reads and locks what a call names, runs the rules, reads
// what they missed and runs them again, and writes what they changed. Two calls that touch the same rows wait for each
// other; a circle of waiting is broken by the server, and the call begins anew.

import type { Clock } from '../../../clock.ts'
import { StorageError } from '../../../errors.ts'
import type { Connection, Database } from '../connection/database.ts'
import { sqlStateOf } from '../connection/errors.ts'
import { encodeHints } from '../verbs/hints.ts'
import { Loader } from './load.ts'
import { conflict, Loaded, type Locked, missing, type Named } from './loaded.ts'
import { PostgresMove } from './move.ts'
import type { Statements } from './statements.ts'
import type { Types } from './types.ts'
import { WorkingSet } from './working-set.ts'
import { write } from './write.ts'

export interface Call<T> {
  /** Names what will be needed, as far as the request tells. */
  readonly want?: (loaded: Loaded) => void
  /** Reads lines and lists, once the time is known. */
  readonly prepare?: (loader: Loader) => Promise<void>
  readonly rules: (move: PostgresMove) => T
  /** After all else is written. */
  readonly after?: (connection: Connection, move: PostgresMove) => Promise<void>
  /** Jobs that the rules ask for are only looked at, until they change one. */
  readonly looksFirst?: boolean
  /** The next call in the transaction is likely to want the same, and nothing else. */
  readonly keepsLocked?: boolean
  /** It inserts no row that somebody else may insert at the same time: there is nothing to undo and begin anew. */
  readonly insertsNothing?: boolean
}

/** A transaction of the user's. */
export interface Joined {
  readonly connection: Connection
  /** Given where its commit is ours: */
  readonly own?: OwnTransaction
}

/** What the calls in a transaction of our own making know of each other. */
export interface OwnTransaction {
  /** To be told of once it is committed. */
  moved(move: PostgresMove): void
  keepLocked(locked: Locked): void
  /** What the call before has locked; after any other call it may be out of date. */
  takeLocked(): Locked | undefined
}

export interface MoverOptions {
  readonly database: Database
  readonly statements: Statements
  readonly types: Types
  readonly clock: Clock
  readonly channel: string
  /** Of this storage, so that it does not hear itself. */
  readonly instance: string
  /** For each call that waits for locks, in transactions of our own. */
  readonly lockTimeoutMs: number
  /** It is committed. */
  onMoved(move: PostgresMove): void
}

/** How often a call begins anew, and how long it waits before, at most, in ms. */
const [mostTries, longestPauseMs] = [20, 50]

const savepoint = { name: '', text: 'SAVEPOINT holdfast' }
const rollback = { name: '', text: 'ROLLBACK TO SAVEPOINT holdfast' }
const release = { name: '', text: 'RELEASE SAVEPOINT holdfast' }

type Holders = Map<string, Named>

export class Mover {
  readonly #options: MoverOptions

  constructor(options: MoverOptions) {
    this.#options = options
  }

  /** @param joined in a transaction of the user's */
  async run<T>(call: Call<T>, joined?: Joined): Promise<T> {
    // By name: those who turned out to hold a key, to be locked before it the next time.
    const holders: Holders = new Map()
    if (joined) return this.#again(() => this.#runJoined(joined, call, holders), isConflict)
    const { database } = this.#options
    const begin = (connection: Connection) => this.#attempt(connection, call, holders, true)
    const [answer, move] = await this.#again(
      () => database.transaction(begin, { limitsLocks: true }),
      (error) => isConflict(error) || isWorthRepeating(error),
    )
    this.#options.onMoved(move)
    move.send()
    return answer
  }

  /** All of it or nothing, and whatever goes wrong, the user's transaction can go on. */
  async #runJoined<T>({ connection, own }: Joined, call: Call<T>, holders: Holders): Promise<T> {
    const locked = own?.takeLocked()
    // In a transaction of our own making an error ends it: two trips are saved.
    if (own && call.insertsNothing) {
      const [answer, move, loaded] = await this.#attempt(connection, call, holders, true, locked)
      own.moved(move)
      if (call.keepsLocked) own.keepLocked({ loaded, now: move.now, at: this.#options.clock.monotonic() })
      return answer
    }
    await connection.query(savepoint, [])
    let answer: T
    let move: PostgresMove
    try {
      ;[answer, move] = await this.#attempt(connection, call, holders, own !== undefined, locked)
    } catch (error) {
      await connection.query(rollback, []).catch(() => {})
      await connection.query(release, []).catch(() => {})
      throw error
    }
    await connection.query(release, [])
    own?.moved(move)
    return answer
  }

  /** @param isOurs its commit is; @param locked by the call before */
  async #attempt<T>(
    connection: Connection,
    call: Call<T>,
    holders: Holders,
    isOurs: boolean,
    locked?: Locked,
  ): Promise<[T, PostgresMove, Loaded]> {
    const { statements, types, channel, clock, lockTimeoutMs } = this.#options
    // Where its commit is not ours to see, we hear of it as all others do.
    const from = isOurs ? this.#options.instance : undefined
    const loaderOf = (rows: Loaded): Loader => {
      call.want?.(rows)
      for (const [name, holder] of holders) rows.want.jobs.set(name, holder)
      const limit = isOurs ? lockTimeoutMs : null
      return new Loader(connection, statements, types, rows, holders, call.looksFirst === true, limit)
    }
    const further = locked && loaderOf(locked.loaded)
    const goesOn = further?.goesOn(locked!, clock.monotonic())
    const loader = goesOn ? further! : loaderOf(new Loaded())
    const { loaded } = loader
    if (!goesOn) await loader.begin()
    await call.prepare?.(loader)
    for (;;) {
      const move = new PostgresMove(new WorkingSet(loaded, types), loader.now)
      try {
        const answer = call.rules(move)
        // What follows may have something to tell, too.
        const early = call.after ? undefined : encodeHints(move.hintsForOthers(), from)
        const isTold = await write(connection, statements, move, early === undefined ? undefined : [channel, early])
        await call.after?.(connection, move)
        const hints = call.after ? encodeHints(move.hintsForOthers(), from) : early
        if (hints !== undefined && (call.after || !isTold)) await connection.query(statements.notify, [channel, hints])
        return [answer, move, loaded]
      } catch (error) {
        if (error !== missing) throw error
      }
      await loader.load()
    }
  }

  async #again<T>(attempt: () => Promise<T>, isWorthIt: (error: unknown) => boolean): Promise<T> {
    const { clock } = this.#options
    for (let tries = 1; ; tries++) {
      try {
        return await attempt()
      } catch (error) {
        if (!isWorthIt(error)) throw error
        if (tries === mostTries) {
          if (!isConflict(error)) throw error
          throw new StorageError('Postgres: others were quicker, again and again', {
            maybeApplied: false,
            transient: true,
          })
        }
      }
      // Somebody who was quicker is done; of those who waited in a circle, one should come later than the other.
      await new Promise<void>(
        (resolve) => void clock.after(longestPauseMs * clock.random() * (tries / mostTries), resolve),
      )
    }
  }
}

const isConflict = (error: unknown): boolean => error === conflict

const isWorthRepeating = (error: unknown): boolean => {
  const state = sqlStateOf(error)
  return state === '40P01' || state === '40001'
}
