// What a storage keeps of jobs in tables, keys and files: looked at from outside, without the driver.

import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { postgresPlace } from '../postgres-subject.ts'
import { placeOf } from '../redis-places.ts'
import type { Spec } from '../processes/spec.ts'

/** Of a log and its snapshot: a megabyte of log is left alone, and what is alive with it is less than another. */
const mostLogBytes = 3_000_000

/** Rows, keys and files that have to do with jobs. Names of types and counters stay. */
export async function leftIn(spec: Spec): Promise<string[]> {
  if (spec.driver === 'sqlite') return rowsOfSqlite(join(spec.at, 'jobs.db'))
  if (spec.driver === 'postgres') return rowsOfPostgres(spec.prefix)
  if (spec.driver === 'redis') return keysOf(spec.prefix)
  return filesOf(spec.at)
}

const isOfJobs = (table: string): boolean => !/(types|numbers|migrations)$/.test(table)

function rowsOfSqlite(path: string): string[] {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all() as { name: string }[]
  const left = tables.filter(({ name }) => isOfJobs(name) && db.prepare(`SELECT 1 FROM ${name} LIMIT 1`).get())
  db.close()
  return left.map(({ name }) => name)
}

async function rowsOfPostgres(schema: string): Promise<string[]> {
  const { pool } = await postgresPlace()
  const { rows } = await pool.query<{ name: string }>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1',
    [schema],
  )
  const left: string[] = []
  for (const { name } of rows.filter((row) => isOfJobs(row.name))) {
    const found = await pool.query(`SELECT 1 FROM "${schema}"."${name}" LIMIT 1`)
    if (found.rows.length > 0) left.push(name)
  }
  return left
}

async function keysOf(prefix: string): Promise<string[]> {
  const client = await (await (await placeOf('redis')).serverOf(prefix)).connect()
  const keys = (await client.send('KEYS', `{${prefix}}:*`)) as string[]
  client.close()
  return keys.filter((key) => !/::k?n$/.test(key))
}

/** What is for people to look at; and the log and its snapshot, if they are long. */
async function filesOf(directory: string): Promise<string[]> {
  const left: string[] = []
  let logBytes = 0
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const name = path.slice(directory.length + 1)
    if (/^(log|snapshot)\//.test(name)) logBytes += await sizeOf(path)
    else if (!/^(unshown\/|holdfast\.json$|reserve$)/.test(name)) left.push(name)
  }
  return logBytes > mostLogBytes ? [...left, `a log of ${logBytes} bytes`] : left
}

/** 0 if it went meanwhile. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch {
    return 0
  }
}
