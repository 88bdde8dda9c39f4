// A mark that a transaction of the app carries until it ends. A statement that is sent behind the end of the transaction, by a library
// that does not tell, would commit by itself: it finds no mark, and writes nothing.

import { columns, type Sql } from './statement.ts'

const [name, value] = ["'holdfast.transaction'", "'open'"]

/** A condition: the transaction of the statement has the mark. */
export const hasMark = `current_setting(${name}, true) IS NOT DISTINCT FROM ${value}`

export const markStatements = ({ statement }: Sql) => ({
  /** Outside of a transaction, the mark is gone as soon as the statement has ended. */
  markTransaction: statement('mark_transaction', `SELECT ${columns(`set_config(${name}, ${value}, true)`)}`),
  isMarked: statement('is_marked', `SELECT ${columns(hasMark)}`),
})
