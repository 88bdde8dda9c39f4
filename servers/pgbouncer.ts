// A private PgBouncer in front of a Postgres server: client connections share server connections, one transaction or
// one session at a time.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPgbouncer } from './find.ts'
import { accepts } from './port.ts'
import { type PostgresServer, serverUser } from './postgres.ts'
import { ServerProcess } from './process.ts'

export interface PgbouncerOptions {
  /** When a server connection may serve another client. @default 'transaction' */
  readonly mode?: 'transaction' | 'session' | 'statement'
  /** Number of connections to the server. @default 5 */
  readonly poolSize?: number
  /** More settings of PgBouncer. */
  readonly settings?: Readonly<Record<string, string>>
  /** Path of the binary. @default the one that find.ts finds */
  readonly binary?: string
}

export interface Pgbouncer {
  readonly port: number
  /** Connects to the database of the server through PgBouncer. */
  readonly url: string
  readonly log: string
  kill(signal: NodeJS.Signals): void
  restart(): Promise<void>
  stop(): Promise<void>
}

/** @throws Error with its log when it does not start */
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
    // With SIGINT it would wait for its clients.
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
    // No reset query between two clients: transaction mode leaves no session state.
    server_reset_query: mode === 'session' ? 'DISCARD ALL' : '',
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  const database = new URL(server.url).pathname.slice(1)
  const target = `host=127.0.0.1 port=${server.port} dbname=${database} user=${server.user}${password}`
  return ['[databases]', `postgres = ${target}`, '[pgbouncer]', ...lines, ''].join('\n')
}
