// Two user tables beside the jobs: a row per order, written in the transaction that starts it, and a row per
// job of some types, written in the transaction that completes it. Neither has a key: a row written twice exists twice.

import type { Storage } from 'holdfast'
import type { PostgresTransaction } from 'holdfast/postgres'
import type { SqliteTransaction } from 'holdfast/sqlite'
import { storedType } from 'holdfast/storage'
import { withRows } from './types.ts'

type Tx = PostgresTransaction | SqliteTransaction

/** @param values for the question marks, in order */
async function sql(tx: Tx, text: string, ...values: readonly string[]): Promise<(string | null)[][]> {
  if ('database' in tx) {
    return tx.database
      .prepare(text)
      .all(...values)
      .map((row) => Object.values(row) as (string | null)[])
  }
  let number = 0
  const numbered = text.replaceAll('?', () => `$${++number}`)
  return (await tx.query(numbered, values)) as (string | null)[][]
}

export async function makeTables(storage: Storage): Promise<void> {
  await storage.transaction!(async (tx) => {
    for (const table of ['started', 'done']) await sql(tx as Tx, `CREATE TABLE ${table} (id text NOT NULL)`)
  })
}

export async function writeRow(tx: unknown, table: 'started' | 'done', id: string): Promise<void> {
  await sql(tx as Tx, `INSERT INTO ${table} VALUES (?)`, id)
}

/** The rows of one table and the jobs that should have one. All fields but the first two should be 0. */
export interface Match {
  readonly rows: number
  readonly jobs: number
  readonly twice: number
  readonly rowsWithoutJob: number
  readonly jobsWithoutRow: number
}

/** Read from the storage's tables, not through its verbs, in one statement and so at one instant. */
export async function matchRows(storage: Storage): Promise<Readonly<Record<'started' | 'done', Match>>> {
  const [jobs, types] =
    storage.driver === 'sqlite' ? ['holdfast_jobs', 'holdfast_types'] : ['holdfast.jobs', 'holdfast.types']
  const completed = 5
  const completedOf = (names: readonly string[]): string =>
    `SELECT j.id FROM ${jobs} j JOIN ${types} t ON t.tid = j.tid
     WHERE j.state = ${completed} AND t.name IN (${names.map((name) => `'${storedType('chain', name)}'`).join(', ')})`
  return {
    started: await match(storage, 'started', completedOf(['order'])),
    done: await match(storage, 'done', completedOf(withRows)),
  }
}

const counted = (of: string): string => `(SELECT CAST(count(*) AS text) FROM (${of}) AS counted)`

async function match(storage: Storage, table: string, wanted: string): Promise<Match> {
  const ids = `SELECT id FROM ${table}`
  const text = `SELECT ${counted(ids)} AS c0, ${counted(wanted)} AS c1,
    ${counted(`${ids} GROUP BY id HAVING count(*) > 1`)} AS c2,
    ${counted(`${ids} EXCEPT ${wanted}`)} AS c3, ${counted(`${wanted} EXCEPT ${ids}`)} AS c4`
  const [row] = await storage.transaction!((tx) => sql(tx as Tx, text))
  const [rows, jobs, twice, rowsWithoutJob, jobsWithoutRow] = row!.map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ]
  return { rows, jobs, twice, rowsWithoutJob, jobsWithoutRow }
}
