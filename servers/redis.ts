// A private Redis (or Valkey) server. It keeps nothing unless asked: no snapshots, no append-only file.

import { randomBytes } from 'node:crypto'
import { findRedis } from './find.ts'
import { type ServerExit, ServerProcess } from './process.ts'
import { parseInfo, RespClient, type RespOptions } from './resp.ts'

export interface RedisOptions {
  /** @default 'no' */
  readonly appendonly?: 'no' | 'everysec' | 'always'
  /** More arguments, e.g. `['--maxmemory', '10mb']`; they come last and so win over ours. */
  readonly args?: readonly string[]
  /** A redis-server or valkey-server. @default what find.ts finds */
  readonly binary?: string
  /** @default a free one */
  readonly port?: number
  /** With a random password, which is in `url` and `password`. @default false */
  readonly withPassword?: boolean
}

export interface RedisServer {
  readonly host: '127.0.0.1'
  readonly port: number
  readonly password: string | undefined
  /** `redis://127.0.0.1:16123`, or `redis://:password@127.0.0.1:16123`. */
  readonly url: string
  /** Of the latest start. */
  readonly pid: number
  readonly directory: string
  readonly running: boolean
  /** The end of the latest start, whoever caused it. */
  readonly exited: Promise<ServerExit>
  /** What the server has said so far. */
  readonly log: string
  /** A connection beside the client under test; the caller closes it. */
  connect(options?: Pick<RespOptions, 'timeoutMs'>): Promise<RespClient>
  kill(signal: NodeJS.Signals): void
  /** On the same port and directory, after a kill or instead of one. */
  restart(): Promise<void>
  /** Ends it and removes its directory. */
  stop(): Promise<void>
}

/** @throws Error with the server's own words when it does not start */
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

/** PING alone would also be answered by another server that was given our port before us. */
async function answers(port: number, pid: number, password: string | undefined): Promise<boolean> {
  let client: RespClient | undefined
  try {
    client = await RespClient.connect(port, { password, timeoutMs: 1000 })
    await client.send('PING')
    return parseInfo(await client.send('INFO', 'server')).get('process_id') === String(pid)
  } catch {
    // Not listening yet, still loading its files, or another's: the caller knows how long to go on, and shows the log.
    return false
  } finally {
    client?.close()
  }
}
