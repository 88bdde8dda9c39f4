// Runs the rules of the contract (storage/moves) in transactions: reads and locks what a call names, runs the rules, reads
// what they missed and runs them again, and writes what they changed. Two calls that touch the same rows wait for each
// other; a circle of waiting is broken by the server, and the call begins anew.

import type { Clock } from '../../clock.ts'
import { StorageError } from '../../errors.ts'
import type { Connection, Database } from './database.ts'
import { sqlStateOf } from './errors.ts'
import { encodeHints } from './hints.ts'
import { Loader } from './load.ts'
import { conflict, Loaded, missing, type Named } from './loaded.ts'
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
  /** It inserts no row that somebody else may insert at the same time: there is nothing to undo and begin anew. */
  readonly insertsNothing?: boolean
}

/** A transaction of the user's. */
export interface Joined {
  readonly connection: Connection
  /** Given where its commit is ours: to be told of then. */
  readonly onMove?: (move: PostgresMove) => void
}

export interface MoverOptions {
  readonly database: Database
  readonly statements: Statements
  readonly types: Types
  readonly clock: Clock
  readonly channel: string
  /** Of this storage, so that it does not hear itself. */
  readonly instance: string
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
    const { database, instance } = this.#options
    const [answer, move] = await this.#again(
      () => database.transaction((connection) => this.#attempt(connection, call, holders, instance)),
      (error) => isConflict(error) || isWorthRepeating(error),
    )
    this.#options.onMoved(move)
    move.send()
    return answer
  }

  /** All of it or nothing, and whatever goes wrong, the user's transaction can go on. */
  async #runJoined<T>({ connection, onMove }: Joined, call: Call<T>, holders: Holders): Promise<T> {
    // In a transaction of our own making an error ends it: two trips are saved.
    if (onMove && call.insertsNothing) {
      const [own, moved] = await this.#attempt(connection, call, holders, this.#options.instance)
      onMove(moved)
      return own
    }
    await connection.query(savepoint, [])
    let answer: T
    let move: PostgresMove
    try {
      // Where its commit is not ours to see, we hear of it as all others do.
      ;[answer, move] = await this.#attempt(connection, call, holders, onMove && this.#options.instance)
    } catch (error) {
      await connection.query(rollback, []).catch(() => {})
      await connection.query(release, []).catch(() => {})
      throw error
    }
    await connection.query(release, [])
    onMove?.(move)
    return answer
  }

  async #attempt<T>(
    connection: Connection,
    call: Call<T>,
    holders: Holders,
    from: string | undefined,
  ): Promise<[T, PostgresMove]> {
    const { statements, types, channel } = this.#options
    const loaded = new Loaded()
    call.want?.(loaded)
    for (const [name, holder] of holders) loaded.want.jobs.set(name, holder)
    const loader = new Loader(connection, statements, types, loaded, holders, call.looksFirst === true)
    await loader.begin()
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
        return [answer, move]
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
