// A private Postgres server: a cluster of its own, on 127.0.0.1 only. It syncs nothing to disk unless asked: committed
// data survives the end of the server, also by SIGKILL, but not that of the machine.

import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findPostgres } from './find.ts'
import { makeCluster } from './postgres-cluster.ts'
import { type ServerExit, ServerProcess, type ServerUser } from './process.ts'

export interface PostgresOptions {
  /** Settings of the server, e.g. `{ max_connections: '20' }`; they override ours. */
  readonly settings?: Readonly<Record<string, string>>
  /** The folder of the programs. @default the one that find.ts finds */
  readonly folder?: string
  /** @default a free port */
  readonly port?: number
  /** Whether a commit waits for the disk. @default false */
  readonly fsync?: boolean
  /** Uses a self-signed certificate and refuses unencrypted clients. Needs openssl. @default false */
  readonly withTls?: boolean
  /** Sets a random password, which `url` and `password` have. @default false */
  readonly withPassword?: boolean
  /** Also listens on a Unix socket in `directory`: a call by it takes a fifth less CPU than by TCP. @default false */
  readonly withSocket?: boolean
}

export interface PostgresServer {
  readonly host: '127.0.0.1'
  readonly port: number
  /** Name of the superuser and of the initial database. */
  readonly user: 'postgres'
  readonly password: string | undefined
  /** `postgres://postgres@127.0.0.1:16123/postgres`, with the password if there is one. */
  readonly url: string
  /** Pid of the latest start. */
  readonly pid: number
  readonly directory: string
  readonly running: boolean
  /** Resolves when the latest start has ended, for any reason. */
  readonly exited: Promise<ServerExit>
  /** The log of the server so far. */
  readonly log: string
  kill(signal: NodeJS.Signals): void
  /**
   * Restarts on the same port and directory, running or not. `fast` ends all sessions and shuts down, `immediate`
   * ends at once without a checkpoint and recovers from the WAL. @default 'fast'
   */
  restart(manner?: 'fast' | 'immediate'): Promise<void>
  /** This process may exit while the server runs: it ends then, and its directory is removed. */
  unref(): void
  /** Ends the server and removes its directory. */
  stop(): Promise<void>
}

const run = promisify(execFile)
/** The sessions of a killed server end by themselves after a moment; until then its directory is in use. */
const stillInUse = /pre-existing shared memory block/
const [restartTries, restartAgainMs] = [20, 100]

/** @throws Error with the server's log when it does not start */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const folder = options.folder ?? findPostgres()
  if (!folder) throw new Error('postgres not found: run `npm run servers`, or set POSTGRES_BIN to the folder it is in')
  const password = options.withPassword ? randomBytes(16).toString('hex') : undefined
  const user = serverUser()
  let data = ''
  const server = await ServerProcess.start(
    {
      name: 'postgres',
      binary: join(folder, 'postgres'),
      async args(port, directory) {
        data = join(directory, 'data')
        if (!existsSync(data)) {
          await makeCluster({ folder, directory, password, user, isTemplated: options.folder === undefined })
          if (options.withTls) await makeCertificate(data, user)
        }
        return argumentsOf(options, port, directory)
      },
      answers: async (_, pid) => isReady(data, pid),
      portTaken: /could not create any TCP\/IP sockets/,
      // With SIGTERM it would wait for its clients.
      endSignal: 'SIGINT',
      user,
    },
    options.port,
  )
  return asPostgresServer(server, password)
}

function asPostgresServer(server: ServerProcess, password: string | undefined): PostgresServer {
  return {
    host: '127.0.0.1',
    port: server.port,
    user: 'postgres',
    password,
    url: `postgres://postgres${password === undefined ? '' : `:${password}`}@127.0.0.1:${server.port}/postgres`,
    get pid() {
      return server.pid
    },
    directory: server.directory,
    get running() {
      return server.running
    },
    get exited() {
      return server.exited
    },
    get log() {
      return server.log
    },
    kill: (signal) => server.kill(signal),
    restart: (manner = 'fast') => restart(server, manner),
    unref: () => server.unref(),
    stop: () => server.stop(),
  }
}

async function restart(server: ServerProcess, manner: 'fast' | 'immediate'): Promise<void> {
  if (manner === 'immediate' && server.running) {
    server.kill('SIGQUIT')
    await server.exited
  }
  for (let left = restartTries; ; left--) {
    try {
      return await server.restart()
    } catch (error) {
      if (left === 1 || !stillInUse.test((error as Error).message)) throw error
      await sleep(restartAgainMs)
    }
  }
}

/** Postgres and PgBouncer refuse to run as root. */
export function serverUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  return { uid: idOf('-u'), gid: idOf('-g') }
}

const idOf = (flag: '-u' | '-g'): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))

async function makeCertificate(data: string, user: ServerUser | undefined): Promise<void> {
  const files = ['-keyout', join(data, 'server.key'), '-out', join(data, 'server.crt')]
  const args = [
    'req',
    '-new',
    '-x509',
    '-nodes',
    '-newkey',
    'rsa:2048',
    '-days',
    '2',
    '-subj',
    '/CN=localhost',
    ...files,
  ]
  await run('openssl', args, { cwd: data, ...user })
  const rules = readFileSync(join(data, 'pg_hba.conf'), 'utf8')
  writeFileSync(join(data, 'pg_hba.conf'), rules.replaceAll(/^host\b/gm, 'hostssl'))
}

function argumentsOf(
  { settings, fsync = false, withTls = false, withSocket = false }: PostgresOptions,
  port: number,
  directory: string,
): string[] {
  const all = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: withSocket ? directory : '',
    // Inside the directory, which is removed; otherwise it would stay in /dev/shm after a SIGKILL.
    dynamic_shared_memory_type: 'mmap',
    ssl: withTls ? 'on' : 'off',
    ...(!fsync && { fsync: 'off', full_page_writes: 'off' }),
    ...settings,
  }
  return ['-D', join(directory, 'data'), ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

/** Reads postmaster.pid, which has pid and status: it needs no connection and cannot mistake another server for ours. */
function isReady(data: string, pid: number): boolean {
  try {
    const lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
    return lines[0]?.trim() === String(pid) && lines[7]?.trim() === 'ready'
  } catch {
    // Not written yet: the caller has the time limit and shows the log.
    return false
  }
}
