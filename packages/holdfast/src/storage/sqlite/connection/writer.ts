// All that is written goes through here, one transaction at a time. Calls that come while one is under way are committed
// together: one sync of the disk serves them all. If one of them fails, the others are run again without it.
// Invariant: a call that was told that its time is over never runs afterwards.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Clock, Timer } from '../../../clock.ts'
import { invalidArgument, StorageError } from '../../../errors.ts'
import type { Signal } from '../../storage.ts'
import { isFull, notApplied, whenFree } from './errors.ts'
import { SqliteMove } from '../rules/move.ts'
import type { Session } from '../rules/session.ts'

export interface WriterOptions {
  readonly db: DatabaseSync
  readonly session: Session
  readonly clock: Clock
  /** How long a call may wait for its turn. */
  readonly patienceMs: number
  /** What others should hear of, after the commit. */
  onCommitted(signals: readonly Signal[]): void
  /** Each commit waits for the disk. */
  readonly syncs: boolean
  /** Makes room on a full disk, for what frees some in turn. */
  makeRoom(): void
}

interface Waiter {
  /** On the clock that never jumps. */
  readonly deadline: number
  readonly reject: (error: unknown) => void
}

interface Call extends Waiter {
  /** Only takes room: the first to be refused when the disk is full. */
  readonly isAdd: boolean
  readonly run: (move: SqliteMove) => unknown
  readonly resolve: (answer: unknown) => void
}

interface LongCall extends Waiter {
  readonly start: () => Promise<void>
}

type RunMove = <T>(run: (move: SqliteMove) => T) => T

/** A transaction of the user's, with rows of the user's own. */
export class SqliteTransaction {
  /** The connection: statements on it belong to the transaction, until its function has ended. */
  readonly database: DatabaseSync
  readonly #owner: Writer
  #run: RunMove | undefined

  constructor(database: DatabaseSync, owner: Writer, run: RunMove) {
    this.database = database
    this.#owner = owner
    this.#run = run
  }

  /** @internal @throws INVALID_ARGUMENT if it has ended, or is of another storage */
  static run<T>(tx: SqliteTransaction, owner: Writer, run: (move: SqliteMove) => T): T {
    if (!tx.#run) throw invalidArgument('tx', 'a transaction whose function has not ended yet', tx)
    if (tx.#owner !== owner) throw invalidArgument('tx', 'a transaction of this storage', tx)
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
  #waiting: (Call[] | LongCall)[] = []
  #pumping: Promise<void> | undefined
  /** A function of the user's is under way: nobody knows for how long. */
  #isHeld = false
  #watch: Timer | undefined
  readonly #beginning: StatementSync
  readonly #committing: StatementSync

  constructor(options: WriterOptions) {
    this.#options = options
    this.#beginning = options.db.prepare('BEGIN IMMEDIATE')
    this.#committing = options.db.prepare('COMMIT')
  }

  run<T>(run: (move: SqliteMove) => T, isAdd = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const call: Call = { isAdd, run, resolve: resolve as Call['resolve'], reject, deadline: this.#deadline() }
      const last = this.#waiting.at(-1)
      if (Array.isArray(last)) last.push(call)
      else this.#waiting.push([call])
      this.#start()
    })
  }

  transaction<T>(run: (tx: SqliteTransaction) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const waiter = { deadline: this.#deadline(), reject }
      this.#waiting.push({ ...waiter, start: () => this.#transaction(waiter, run).then(resolve, reject) })
      this.#start()
    })
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#pumping) await this.#pumping
  }

  #deadline(): number {
    return this.#options.clock.monotonic() + this.#options.patienceMs
  }

  #start(): void {
    this.#watchWaiters()
    this.#pumping ??= this.#pump()
  }

  async #pump(): Promise<void> {
    // A sync of the disk is worth a turn of the event loop: calls that come together are committed together.
    if (this.#options.syncs) await new Promise<void>((resolve) => this.#options.clock.soon(resolve))
    else await undefined
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const waiters: readonly Waiter[] = Array.isArray(next) ? next : [next]
      try {
        await (Array.isArray(next) ? this.#commit(next) : next.start())
      } catch (error) {
        // Not even a rollback is possible: nobody may be left without an answer.
        for (const { reject } of waiters) reject(error)
      }
    }
    // In the same step in which nobody was found waiting: who comes next starts it again.
    this.#pumping = undefined
  }

  /** @param hasRoom room was made on a full disk: another time there is none left */
  async #commit(waiting: readonly Call[], hasRoom = false): Promise<void> {
    const { session, clock } = this.#options
    const moves: SqliteMove[] = []
    const answers: unknown[] = []
    const calls = await this.#begin(waiting)
    if (calls.length === 0) return
    let committing = false
    try {
      for (const call of calls) {
        const move = new SqliteMove(session, clock.now())
        answers.push(call.run(move))
        moves.push(move)
      }
      session.end()
      committing = true
      this.#committing.run()
    } catch (error) {
      this.#rollBack()
      return this.#fail(calls, error, committing, hasRoom)
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
    } else if (calls.length > 1 && !wasCommitting) {
      for (const call of calls) await this.#commit([call], hasRoom)
    } else {
      // A sync that failed may have come through: then nobody can say.
      const known = wasCommitting && !isFull(error) ? error : notApplied(error)
      for (const call of calls) call.reject(known)
    }
  }

  async #transaction<T>(waiter: Waiter, run: (tx: SqliteTransaction) => Promise<T>): Promise<T> {
    const { db, session } = this.#options
    const moves: SqliteMove[] = []
    const [begun] = await this.#begin([waiter])
    // It was told so already.
    if (!begun) return undefined as T
    const tx = new SqliteTransaction(db, this, (work) => this.#moveInside(work, moves))
    let answer: T
    try {
      this.#isHeld = true
      this.#watchWaiters()
      answer = await run(tx)
      SqliteTransaction.end(tx)
      session.end()
      this.#committing.run()
    } catch (error) {
      SqliteTransaction.end(tx)
      this.#rollBack()
      throw error
    } finally {
      this.#isHeld = false
      this.#watch?.cancel()
      this.#watch = undefined
    }
    this.#options.onCommitted(moves.flatMap((move) => move.send()))
    return answer
  }

  /** A move of a transaction: all of it or nothing, even if the user goes on after its error; its rows can be looked at. */
  #moveInside<T>(work: (move: SqliteMove) => T, moves: SqliteMove[]): T {
    const { db, session, clock } = this.#options
    // A full disk, or the user, may have ended it: nothing may be written outside of it.
    if (!db.isTransaction) throw new StorageError('the transaction was rolled back', { maybeApplied: false })
    db.exec('SAVEPOINT holdfast')
    try {
      const move = new SqliteMove(session, clock.now())
      const answer = work(move)
      session.end()
      db.exec('RELEASE holdfast')
      moves.push(move)
      return answer
    } catch (error) {
      session.forget()
      if (db.isTransaction) db.exec('ROLLBACK TO holdfast; RELEASE holdfast')
      throw notApplied(error)
    }
  }

  /** Waits for whoever else writes. Answers with those who had the time for it; the others are told. */
  async #begin<T extends Waiter>(waiters: readonly T[]): Promise<readonly T[]> {
    const { session, clock } = this.#options
    let inTime = waiters
    const isLate = (error: unknown): boolean => {
      const now = clock.monotonic()
      inTime = inTime.filter((waiter) => isInTime(waiter, now, () => notApplied(error)))
      return inTime.length === 0
    }
    try {
      await whenFree(clock, () => this.#beginning.run(), isLate)
      session.begin()
    } catch (error) {
      this.#rollBack()
      for (const { reject } of inTime) reject(notApplied(error))
      return []
    }
    return inTime
  }

  /** While a transaction of the user's is under way, those who wait for its end too long are told, and never run. */
  #watchWaiters(): void {
    if (!this.#isHeld || this.#watch || this.#waiting.length === 0) return
    const { clock } = this.#options
    const first = Math.min(...this.#waiting.flat().map(({ deadline }) => deadline))
    this.#watch = clock.after(Math.max(0, first - clock.monotonic()), () => {
      this.#watch = undefined
      const now = clock.monotonic()
      const isLeft = (waiter: Waiter): boolean => isInTime(waiter, now, heldUp)
      this.#waiting = this.#waiting
        .map((entry) => (Array.isArray(entry) ? entry.filter(isLeft) : entry))
        .filter((entry) => (Array.isArray(entry) ? entry.length > 0 : isLeft(entry)))
      this.#watchWaiters()
    })
  }

  #rollBack(): void {
    const { db, session } = this.#options
    session.forget()
    // A full disk may have rolled it back already.
    if (db.isTransaction) db.exec('ROLLBACK')
  }
}

/** Tells one whose time is over. */
function isInTime({ deadline, reject }: Waiter, now: number, why: () => unknown): boolean {
  if (deadline > now) return true
  reject(why())
  return false
}

const heldUp = (): StorageError =>
  new StorageError(
    'the call waited too long for a transaction of this storage to end. Inside of transaction(), pass `tx` on to every call',
    { maybeApplied: false },
  )
