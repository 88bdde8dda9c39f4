// Tells whether a user's transaction has undone calls of the storage. `ROLLBACK TO` a savepoint of the user's own undoes their rows, and
// nothing says so: what is in memory, as the open claims and the last number taken, would be ahead of the rows.
//
// It counts the calls in a temporary table, which is undone with them, and is no page of the file.

import type { DatabaseSync, StatementSync } from 'node:sqlite'

export class RollbackCheck {
  #calls = 0
  readonly #read: StatementSync
  readonly #write: StatementSync

  /** Outside of a transaction: its rollback would undo the table, too. */
  constructor(db: DatabaseSync) {
    db.exec('CREATE TEMP TABLE holdfast_calls (number INTEGER NOT NULL); INSERT INTO temp.holdfast_calls VALUES (0)')
    this.#read = db.prepare('SELECT number FROM temp.holdfast_calls')
    this.#write = db.prepare('UPDATE temp.holdfast_calls SET number = ?')
  }

  /** At the start of a transaction. */
  begin(): void {
    this.#calls = this.#stored()
  }

  /** At the end of a call. */
  count(): void {
    this.#write.run(++this.#calls)
  }

  /** Whether calls were undone since begin() or the last time. */
  isUndone(): boolean {
    const stored = this.#stored()
    const isUndone = stored !== this.#calls
    this.#calls = stored
    return isUndone
  }

  #stored(): number {
    return this.#read.get()!.number as number
  }
}
