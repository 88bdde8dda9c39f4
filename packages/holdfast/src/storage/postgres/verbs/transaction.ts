// transaction: a transaction of this storage, in which jobs and the user's own rows are committed together.

import { invalidArgument } from '../../../errors.ts'
import type { OpenTransaction, Row, Value } from '../connection/database.ts'
import type { LockedRows } from '../rules/loaded-rows.ts'
import type { PostgresMove } from '../rules/move.ts'
import type { JoinedTransaction, OwnTransaction } from '../rules/rule-runner.ts'
import { noteArrivals, type OpenStorage } from './open-storage.ts'

/** What a call can join: a transaction of `transaction()`, or one of the client library. */
export type JoinableTransaction = PostgresTransaction | object

export class PostgresTransaction {
  #transaction: OpenTransaction | undefined
  readonly #owner: object
  readonly #effects: (() => void)[] = []
  readonly #onMoved: (move: PostgresMove) => void
  #locked: LockedRows | undefined
  #limitsLocks = false

  /** @internal @param opened one without a lock timeout yet @param owner the storage @param onMoved called after the commit */
  constructor(opened: OpenTransaction, owner: object, onMoved: (move: PostgresMove) => void) {
    this.#transaction = opened
    this.#owner = owner
    this.#onMoved = onMoved
  }

  /**
   * The client library's own object for this connection: a client of pg, or a sql of postgres.js. Statements sent through it belong
   * to the transaction until its function ends. Holdfast commits or rolls back; do not do it yourself.
   * @throws TypeError INVALID_ARGUMENT after the function has ended
   */
  get client(): object {
    return this.#limited().client
  }

  /**
   * Runs a statement of your own in the transaction. Select every column as text: values come back as text or null.
   * Rejects with a StorageError, or with INVALID_ARGUMENT after the function has ended.
   */
  async query(text: string, values: readonly Value[] = []): Promise<Row[]> {
    return this.#limited().query({ name: '', text }, values)
  }

  /** @internal @throws TypeError INVALID_ARGUMENT if it has ended, or belongs to another storage */
  static join(tx: PostgresTransaction, owner: object): JoinedTransaction {
    if (tx.#owner !== owner) throw invalidArgument('tx', 'a transaction of this storage', tx)
    const own: OwnTransaction = {
      moved: (move) => own.afterCommit(() => tx.#onMoved(move)),
      afterCommit(effect) {
        tx.#effects.push(effect)
        // The first statement of a call sets the lock timeout.
        tx.#limitsLocks = true
      },
      keepLocked: (locked) => void (tx.#locked = locked),
      takeLocked() {
        const locked = tx.#locked
        tx.#locked = undefined
        return locked
      },
    }
    return { connection: tx.#open(), own }
  }

  /** @internal Ends its use, and returns what its calls do after the commit. */
  static end(tx: PostgresTransaction): readonly (() => void)[] {
    tx.#transaction = undefined
    return tx.#effects
  }

  /** With a lock timeout, for the user's own statements. */
  #limited(): OpenTransaction {
    const opened = this.#open()
    if (!this.#limitsLocks) {
      this.#limitsLocks = true
      opened.limitLocks()
    }
    return opened
  }

  #open(): OpenTransaction {
    if (this.#transaction) return this.#transaction
    throw invalidArgument('tx', 'a transaction whose function has not ended yet', this)
  }
}

/** @param owner the storage, whose calls can join the transaction */
export async function transaction<T>(
  open: OpenStorage,
  owner: object,
  run: (tx: PostgresTransaction) => Promise<T>,
): Promise<T> {
  let effects: readonly (() => void)[] = []
  const onMoved = (move: PostgresMove): void => {
    noteArrivals(open, move)
    move.send()
  }
  const begin = async (opened: OpenTransaction): Promise<T> => {
    const tx = new PostgresTransaction(opened, owner, onMoved)
    try {
      return await run(tx)
    } finally {
      effects = PostgresTransaction.end(tx)
    }
  }
  const answer = await open.database.transaction(begin, { limitsLocks: true })
  for (const effect of effects) effect()
  return answer
}

/** @throws TypeError INVALID_ARGUMENT */
export function joinTransaction(
  { database }: OpenStorage,
  owner: object,
  tx: JoinableTransaction | undefined,
): JoinedTransaction | undefined {
  if (tx === undefined) return undefined
  if (tx instanceof PostgresTransaction) return PostgresTransaction.join(tx, owner)
  if (tx === null) throw invalidArgument('tx', 'a transaction', tx)
  const connection = database.joined(tx)
  return connection.refusesLate ? { connection } : { connection, unguarded: { pipelines: connection.pipelines } }
}
