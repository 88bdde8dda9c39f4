// The writer of a database: one transaction at a time. Calls that arrive while one is under way share the next (group
// commit): one sync of the disk serves them all. If one of them fails, the others run again without it.
// Calls of low urgency wait a little for a commit of others. Calls run in the order in which they were made.
// Invariant: a call that was rejected because its time is over never runs afterwards.
// Longer than others: whether a call runs again, or what its error says, depends on where its transaction failed.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Clock, Timer } from '../../../clock.ts'
import { StorageError } from '../../../errors.ts'
import type { Signal } from '../../storage.ts'
import { SqliteMove } from '../rules/move.ts'
import type { WorkingSet } from '../rules/working-set.ts'
import { isFull, notApplied, whenFree } from './errors.ts'
import { RollbackCheck } from './rollback-check.ts'
import { SqliteTransaction } from './transaction.ts'

export interface WriterOptions {
  readonly db: DatabaseSync
  readonly set: WorkingSet
  readonly clock: Clock
  /** Longest time that a call waits for its transaction, in ms. */
  readonly patienceMs: number
  /** Receives the hints for other processes, after the commit. */
  onCommitted(hints: readonly Signal[]): void
  /** True if each commit syncs the disk. */
  readonly syncs: boolean
  /** Frees room on a full disk for calls that free more of it. */
  makeRoom(): void
}

interface Waiter {
  /** Monotonic instant. */
  readonly deadline: number
  readonly reject: (error: unknown) => void
}

interface Call extends Waiter {
  /** An add takes room and frees none: it is refused when the disk is full. */
  readonly isAdd: boolean
  readonly run: (move: SqliteMove) => unknown
  readonly resolve: (answer: unknown) => void
}

interface LongCall extends Waiter {
  readonly start: () => Promise<void>
}

/** How long a call of low urgency waits for others, in passes of the event loop: long ones while there is work, short ones while there is none. */
const passesToWait = 2

export class Writer {
  readonly #options: WriterOptions
  /** Calls of low urgency, all made after those in #waiting. */
  #patient: Call[] = []
  /** Calls that share a transaction, or one that needs its own. */
  #waiting: (Call[] | LongCall)[] = []
  #pumping: Promise<void> | undefined
  /** A user's function is running in a transaction, for an unknown time. */
  #isHeld = false
  /** Fires when the first waiting call runs out of time. */
  #timer: Timer | undefined
  /** Made by the first transaction of the user. */
  #rollbackCheck: RollbackCheck | undefined
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
      this.#patient.push(call)
      this.#startPatient()
    })
  }

  /** run() of low urgency: it waits some passes of the event loop for a commit of others. */
  runSoon<T>(run: (move: SqliteMove) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const call: Call = { isAdd: false, run, resolve: resolve as Call['resolve'], reject, deadline: this.#deadline() }
      this.#patient.push(call)
      if (Array.isArray(this.#waiting.at(-1))) this.#queuePatient()
      else if (this.#patient.length === 1) this.#startAfter(passesToWait, call)
    })
  }

  transaction<T>(run: (tx: SqliteTransaction) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const waiter = { deadline: this.#deadline(), reject }
      this.#queuePatient()
      this.#waiting.push({ ...waiter, start: () => this.#transaction(waiter, run).then(resolve, reject) })
      this.#start()
    })
  }

  /** Resolves once no call waits. */
  async idle(): Promise<void> {
    this.#startPatient()
    while (this.#pumping) await this.#pumping
  }

  #deadline(): number {
    return this.#options.clock.monotonic() + this.#options.patienceMs
  }

  #start(): void {
    this.#armTimer()
    this.#pumping ??= this.#pump()
  }

  /** @param first of the calls that wait, which others may have taken along meanwhile */
  #startAfter(passes: number, first: Call): void {
    this.#options.clock.soon(() => {
      if (this.#patient[0] !== first) return
      if (passes === 1) this.#startPatient()
      else this.#startAfter(passes - 1, first)
    })
  }

  #startPatient(): void {
    this.#queuePatient()
    if (this.#waiting.length > 0) this.#start()
  }

  #queuePatient(): void {
    if (this.#patient.length === 0) return
    const last = this.#waiting.at(-1)
    if (Array.isArray(last)) last.push(...this.#patient)
    else this.#waiting.push(this.#patient)
    this.#patient = []
  }

  async #pump(): Promise<void> {
    // A sync costs more than a turn of the event loop, so the calls of this turn share one commit.
    if (this.#options.syncs) await new Promise<void>((resolve) => this.#options.clock.soon(resolve))
    else await undefined
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const waiters: readonly Waiter[] = Array.isArray(next) ? next : [next]
      try {
        await (Array.isArray(next) ? this.#commit(next) : next.start())
      } catch (error) {
        // Not even the rollback succeeded. Every call still gets an answer.
        for (const { reject } of waiters) reject(error)
      }
    }
    // In the same step in which no waiting call was found, so that the next call starts the pump again.
    this.#pumping = undefined
  }

  /** @param hasRoom room was freed on a full disk already */
  async #commit(waiting: readonly Call[], hasRoom = false): Promise<void> {
    const { set, clock } = this.#options
    const moves: SqliteMove[] = []
    const answers: unknown[] = []
    const calls = await this.#begin(waiting)
    if (calls.length === 0) return
    let committing = false
    try {
      for (const call of calls) {
        const move = new SqliteMove(set, clock.now())
        answers.push(call.run(move))
        moves.push(move)
      }
      set.end()
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
      // A commit whose sync failed may be on the disk all the same.
      const known = wasCommitting && !isFull(error) ? error : notApplied(error)
      for (const call of calls) call.reject(known)
    }
  }

  async #transaction<T>(waiter: Waiter, run: (tx: SqliteTransaction) => Promise<T>): Promise<T> {
    const { db, set } = this.#options
    const moves: SqliteMove[] = []
    this.#rollbackCheck ??= new RollbackCheck(db)
    const [begun] = await this.#begin([waiter])
    // Its time was over, and it is rejected already.
    if (!begun) return undefined as T
    const tx = new SqliteTransaction(db, this, (work) => this.#moveInside(work, moves))
    let answer: T
    try {
      this.#isHeld = true
      this.#armTimer()
      this.#rollbackCheck.begin()
      answer = await run(tx)
      SqliteTransaction.end(tx)
      if (this.#rollbackCheck.isUndone()) set.forget()
      set.end()
      this.#committing.run()
    } catch (error) {
      SqliteTransaction.end(tx)
      this.#rollBack()
      throw error
    } finally {
      this.#isHeld = false
      this.#timer?.cancel()
      this.#timer = undefined
    }
    this.#options.onCommitted(moves.flatMap((move) => move.send()))
    return answer
  }

  /** Runs a move in a savepoint: it is atomic even if the user's function catches its error. Its rows are written at once. */
  #moveInside<T>(work: (move: SqliteMove) => T, moves: SqliteMove[]): T {
    const { db, set, clock } = this.#options
    // A full disk or the user's function may have ended the transaction: nothing may be written outside of it.
    if (!db.isTransaction) {
      throw new StorageError('SQLite: the transaction was rolled back before this call. Nothing was written.', {
        maybeApplied: false,
      })
    }
    if (this.#rollbackCheck!.isUndone()) set.forget()
    db.exec('SAVEPOINT holdfast')
    try {
      const move = new SqliteMove(set, clock.now())
      const answer = work(move)
      set.end()
      this.#rollbackCheck!.count()
      db.exec('RELEASE holdfast')
      moves.push(move)
      return answer
    } catch (error) {
      set.forget()
      if (db.isTransaction) db.exec('ROLLBACK TO holdfast; RELEASE holdfast')
      throw notApplied(error)
    }
  }

  /** Begins a transaction once no other process writes. Returns the calls that are in time; the others are rejected. */
  async #begin<T extends Waiter>(waiters: readonly T[]): Promise<readonly T[]> {
    const { set, clock } = this.#options
    let inTime = waiters
    const isLate = (error: unknown): boolean => {
      const now = clock.monotonic()
      inTime = inTime.filter((waiter) => isInTime(waiter, now, () => notApplied(error)))
      return inTime.length === 0
    }
    try {
      await whenFree(clock, () => this.#beginning.run(), isLate)
      set.begin()
    } catch (error) {
      this.#rollBack()
      for (const { reject } of inTime) reject(notApplied(error))
      return []
    }
    return inTime
  }

  /** While a user's transaction is open, rejects the calls whose time is over. */
  #armTimer(): void {
    if (!this.#isHeld || this.#timer || this.#waiting.length === 0) return
    const { clock } = this.#options
    const first = Math.min(...this.#waiting.flat().map(({ deadline }) => deadline))
    this.#timer = clock.after(Math.max(0, first - clock.monotonic()), () => {
      this.#timer = undefined
      const now = clock.monotonic()
      const isLeft = (waiter: Waiter): boolean => isInTime(waiter, now, heldUp)
      this.#waiting = this.#waiting
        .map((entry) => (Array.isArray(entry) ? entry.filter(isLeft) : entry))
        .filter((entry) => (Array.isArray(entry) ? entry.length > 0 : isLeft(entry)))
      this.#armTimer()
    })
  }

  #rollBack(): void {
    const { db, set } = this.#options
    set.forget()
    // SQLite rolls back by itself when the disk is full.
    if (db.isTransaction) db.exec('ROLLBACK')
  }
}

/** Rejects a call whose time is over. */
function isInTime({ deadline, reject }: Waiter, now: number, why: () => unknown): boolean {
  if (deadline > now) return true
  reject(why())
  return false
}

const heldUp = (): StorageError =>
  new StorageError(
    'SQLite: the call waited too long for a transaction of this storage to end. Nothing was written. Inside transaction(), pass `tx` to every call.',
    { maybeApplied: false },
  )
