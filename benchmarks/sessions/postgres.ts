// What all contenders on Postgres share: a private server per measurement, with its default durability, on the disk where everything is
// measured, and a database per place: a server would take longer to start than some measurements. And the server's own statistics.

import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findPostgres } from '../../servers/find.ts'
import { type PostgresServer, startPostgres } from '../../servers/postgres.ts'
import type { Calls, Contender, Session, Settings } from '../contender.ts'

/** The queue name of all contenders that have one. */
export const queueName = 'jobs'

/** A hundred idle workers that listen use one connection each. */
const connections = 400

/** For the configurations: all contenders use the same kind of server. */
export const postgresServer = `private ${serverVersion()}, its default settings (fsync and synchronous_commit on) except max_connections ${connections}`

export interface PlaceOnPostgres {
  readonly url: string
  /** Members of the session. */
  readonly observed: Pick<Session, 'calls'> & Required<Pick<Session, 'storedBytes' | 'hold' | 'deadRows'>>
}

/** The first caller at a place makes its database and writes its URL into the place. */
export async function postgresAt(
  place: string,
  { countCalls }: Pick<Settings, 'countCalls'>,
): Promise<PlaceOnPostgres> {
  const note = join(place, 'postgres-url')
  if (!existsSync(note)) writeFileSync(note, await nextDatabase(place, countCalls))
  const url = readFileSync(note, 'utf8')
  return { url, observed: observe(url) }
}

export const postgresUnavailable: NonNullable<Contender['unavailable']> = () =>
  findPostgres() ? undefined : 'postgres is not installed'

/** Version from the server itself: "PostgreSQL 15.13". */
function serverVersion(): string {
  const folder = findPostgres()
  const said = folder && spawnSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' }).stdout
  const found = said ? /\(PostgreSQL\) (\S+)/.exec(said) : undefined
  return found ? `PostgreSQL ${found[1]}` : 'PostgreSQL'
}

/** The server of this process, which ends with the process. */
let running: { readonly server: PostgresServer; readonly countsCalls: boolean; databases: number } | undefined

/** Resolves with its URL. */
async function nextDatabase(place: string, countsCalls: boolean): Promise<string> {
  if (running?.countsCalls !== countsCalls) {
    await running?.server.stop()
    running = { server: await start(place, countsCalls), countsCalls, databases: 0 }
  }
  const { url } = running.server
  const name = `place_${++running.databases}`
  await ask(url, `CREATE DATABASE ${name}`)
  const own = new URL(name, url).href
  if (countsCalls) await ask(own, 'CREATE EXTENSION pg_stat_statements')
  return own
}

function start(place: string, countsCalls: boolean): Promise<PostgresServer> {
  // On the disk where a sync has its real cost; and the server may have to run as another user.
  process.env['TMPDIR'] = place
  for (const folder of [dirname(place), place]) chmodSync(folder, 0o755)
  const counting = countsCalls && { shared_preload_libraries: 'pg_stat_statements' }
  return startPostgres({ fsync: true, settings: { max_connections: String(connections), ...counting } })
}

function observe(url: string): PlaceOnPostgres['observed'] {
  return {
    storedBytes: () => storedBytes(url),
    calls: () => calls(url),
    hold: () => hold(url),
    async deadRows() {
      const [row] = await ask<{ dead: string }>(
        url,
        'SELECT coalesce(sum(n_dead_tup), 0) AS dead FROM pg_stat_user_tables',
      )
      return Number(row!.dead)
    },
  }
}

/** Bytes of tables and indexes after a vacuum, which autovacuum would run too. */
async function storedBytes(url: string): Promise<number> {
  await ask(url, 'VACUUM')
  const [row] = await ask<{ bytes: string }>(
    url,
    'SELECT coalesce(sum(pg_total_relation_size(relid)), 0) AS bytes FROM pg_stat_user_tables',
  )
  return Number(row!.bytes)
}

/** Statements by their first word, without the statements of this query. */
async function calls(url: string): Promise<Calls> {
  const rows = await ask<{ verb: string; calls: string }>(
    url,
    `SELECT lower(substring(query from '\\w+')) AS verb, sum(calls) AS calls
     FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'
       AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY 1`,
  )
  return Object.fromEntries(rows.map(({ verb, calls: count }) => [verb, Number(count)]))
}

/** Another session that has read and stays open: no dead row is removed until it ends. */
async function hold(url: string): Promise<() => Promise<void>> {
  const client = await connect(url)
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await client.query('SELECT pg_current_xact_id()')
  return () => client.end()
}

interface Client {
  query(text: string): Promise<{ rows: unknown[] }>
  end(): Promise<void>
}

async function connect(url: string): Promise<Client> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client as Client
}

async function ask<T>(url: string, text: string): Promise<T[]> {
  const client = await connect(url)
  try {
    return (await client.query(text)).rows as T[]
  } finally {
    await client.end()
  }
}
