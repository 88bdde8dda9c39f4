// A private PgBouncer before a Postgres server: connections of clients that share those of the server, one transaction or
// one session at a time.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPgbouncer } from './find.ts'
import { accepts } from './port.ts'
import { type PostgresServer, serverUser } from './postgres.ts'
import { ServerProcess } from './process.ts'

export interface PgbouncerOptions {
  /** When a connection of the server is given to another client. @default 'transaction' */
  readonly mode?: 'transaction' | 'session' | 'statement'
  /** Connections to the server. @default 5 */
  readonly poolSize?: number
  /** More of its settings. */
  readonly settings?: Readonly<Record<string, string>>
  /** @default what find.ts finds */
  readonly binary?: string
}

export interface Pgbouncer {
  readonly port: number
  /** Leads to the database of the server, by way of this one. */
  readonly url: string
  readonly log: string
  kill(signal: NodeJS.Signals): void
  restart(): Promise<void>
  stop(): Promise<void>
}

/** @throws Error with its own words when it does not start */
export async function startPgbouncer(server: PostgresServer, options: PgbouncerOptions = {}): Promise<Pgbouncer> {
  const binary = options.binary ?? findPgbouncer()
  if (!binary) throw new Error('pgbouncer not found: run `npm run servers`, or set PGBOUNCER to its path')
  const pooler = await ServerProcess.start({
    name: 'pgbouncer',
    binary,
    args(port, directory) {
      const file = join(directory, 'pgbouncer.ini')
      writeFileSync(file, settingsOf(server, port, options))
      return [file]
    },
    answers: accepts,
    portTaken: /Address already in use/,
    // It would wait for its clients by SIGINT.
    endSignal: 'SIGTERM',
    user: serverUser(),
  })
  return {
    port: pooler.port,
    url: `postgres://postgres@127.0.0.1:${pooler.port}/postgres`,
    get log() {
      return pooler.log
    },
    kill: (signal) => pooler.kill(signal),
    restart: () => pooler.restart(),
    stop: () => pooler.stop(),
  }
}

function settingsOf(server: PostgresServer, port: number, options: PgbouncerOptions): string {
  const { mode = 'transaction', poolSize = 5, settings } = options
  const password = server.password === undefined ? '' : ` password=${server.password}`
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
    default_pool_size: String(poolSize),
    // No extra round trips between two clients: nothing of a session is left over in transaction mode.
    server_reset_query: mode === 'session' ? 'DISCARD ALL' : '',
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  const target = `host=127.0.0.1 port=${server.port} dbname=postgres user=${server.user}${password}`
  return ['[databases]', `postgres = ${target}`, '[pgbouncer]', ...lines, ''].join('\n')
}
