// A private Redis (or Valkey) server. By default it persists nothing: no snapshots, no append-only file.

import { randomBytes } from 'node:crypto'
import { findRedis } from './find.ts'
import { type ServerExit, ServerProcess } from './process.ts'
import { parseInfo, RespClient, type RespOptions } from './resp.ts'

export interface RedisOptions {
  /** Whether to write an append-only file. @default 'no' */
  readonly appendonly?: 'no' | 'everysec' | 'always'
  /** More arguments, e.g. `['--maxmemory', '10mb']`; they come last and override ours. */
  readonly args?: readonly string[]
  /** Path of a redis-server or valkey-server. @default the one that find.ts finds */
  readonly binary?: string
  /** @default a free port */
  readonly port?: number
  /** Sets a random password, which `url` and `password` have. @default false */
  readonly withPassword?: boolean
}

export interface RedisServer {
  readonly host: '127.0.0.1'
  readonly port: number
  readonly password: string | undefined
  /** `redis://127.0.0.1:16123`, or `redis://:password@127.0.0.1:16123`. */
  readonly url: string
  /** Pid of the latest start. */
  readonly pid: number
  readonly directory: string
  readonly running: boolean
  /** Resolves when the latest start has ended, for any reason. */
  readonly exited: Promise<ServerExit>
  /** The log of the server so far. */
  readonly log: string
  /** Opens a connection beside the client under test; the caller closes it. */
  connect(options?: Pick<RespOptions, 'timeoutMs'>): Promise<RespClient>
  kill(signal: NodeJS.Signals): void
  /** Restarts on the same port and directory, running or not. */
  restart(): Promise<void>
  /** Ends the server and removes its directory. */
  stop(): Promise<void>
}

/** @throws Error with the server's log when it does not start */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const binary = options.binary ?? findRedis()
  if (!binary) throw new Error('redis-server not found: run `npm run servers`, or set HOLDFAST_REDIS_BIN to its folder')
  const password = options.withPassword ? randomBytes(16).toString('hex') : undefined
  const server = await ServerProcess.start(
    {
      name: 'redis',
      binary,
      args: (port, directory) => argumentsOf(options, port, directory, password),
      answers: (port, pid) => answers(port, pid, password),
      portTaken: /Address already in use/,
    },
    options.port,
  )
  return asRedisServer(server, password)
}

function asRedisServer(server: ServerProcess, password: string | undefined): RedisServer {
  return {
    host: '127.0.0.1',
    port: server.port,
    password,
    url: `redis://${password === undefined ? '' : `:${password}@`}127.0.0.1:${server.port}`,
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
    connect: (options) => RespClient.connect(server.port, { ...options, password }),
    kill: (signal) => server.kill(signal),
    restart: () => server.restart(),
    stop: () => server.stop(),
  }
}

function argumentsOf(options: RedisOptions, port: number, directory: string, password: string | undefined): string[] {
  const { appendonly = 'no', args = [] } = options
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: directory,
    daemonize: 'no',
    save: '',
    appendonly: appendonly === 'no' ? 'no' : 'yes',
    ...(appendonly !== 'no' && { appendfsync: appendonly }),
    ...(password !== undefined && { requirepass: password, masterauth: password }),
  }
  return [...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]), ...args]
}

/** Compares the pid: a PING alone would also be answered by another server that took the port first. */
async function answers(port: number, pid: number, password: string | undefined): Promise<boolean> {
  let client: RespClient | undefined
  try {
    client = await RespClient.connect(port, { password, timeoutMs: 1000 })
    await client.send('PING')
    return parseInfo(await client.send('INFO', 'server')).get('process_id') === String(pid)
  } catch {
    // Not listening yet, still loading, or another server: the caller has the time limit and shows the log.
    return false
  } finally {
    client?.close()
  }
}
