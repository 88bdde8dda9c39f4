// A primary and a replica, with a proxy in the replication link, and one between the clients and whichever of them is the primary.

import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Storage } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { findPostgres } from '../../../servers/find.ts'
import { freePort } from '../../../servers/port.ts'
import { serverUser, startPostgres } from '../../../servers/postgres.ts'
import { ServerProcess } from '../../../servers/process.ts'
import { startProxy } from '../../../servers/proxy.ts'
import { type RedisServer, startRedis } from '../../../servers/redis.ts'
import { askRedis } from '../../redis-sessions.ts'
import { eventually } from '../workload.ts'

export interface Pair {
  /** @param isReplicated with durability `replicated` */
  open(isReplicated: boolean): Storage
  /** Resolves once the replica has all that the primary has now. */
  received(): Promise<void>
  cutLink(): Promise<void>
  /** Kills the primary, makes the replica one, and sends the clients there. */
  promote(): Promise<void>
  stop(): Promise<void>
}

export async function redisPair(): Promise<Pair> {
  const primary = await startRedis({ appendonly: 'always', args: ['--repl-diskless-sync-delay', '0'] })
  const replica = await startRedis({ appendonly: 'always', args: ['--repl-diskless-sync-delay', '0'] })
  // After the failover the new primary needs a replica of its own, or `replicated` can never be given.
  const third = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] })
  const link = await startProxy(primary.port)
  const clients = await startProxy(primary.port)
  await askRedis(replica, 'REPLICAOF', '127.0.0.1', String(link.port))
  await askRedis(third, 'REPLICAOF', '127.0.0.1', String(replica.port))
  const isLinked = async (): Promise<boolean> =>
    String(await askRedis(replica, 'INFO', 'replication')).includes('master_link_status:up')
  if (!(await eventually(20_000, isLinked))) throw new Error('failover: the replica was not linked within 20 s')
  const url = `redis://127.0.0.1:${clients.port}`
  return {
    open: (isReplicated) => new RedisStorage({ url, durability: isReplicated ? 'replicated' : 'relaxed' }),
    async received() {
      const wanted = await offsetOf(primary, 'master_repl_offset')
      await reached(async () => (await offsetOf(replica, 'slave_repl_offset')) >= wanted)
    },
    async cutLink() {
      await link.refuse(true)
      link.cut()
    },
    async promote() {
      primary.kill('SIGKILL')
      await primary.exited
      await askRedis(replica, 'REPLICAOF', 'NO', 'ONE')
      clients.retarget(replica.port)
      clients.cut()
    },
    async stop() {
      await Promise.all([clients.stop(), link.stop()])
      await Promise.all([primary.stop(), replica.stop(), third.stop()])
    },
  }
}

const connectionTo = (server: number): string => `host=127.0.0.1 port=${server} user=postgres application_name=standby`

export async function postgresPair(): Promise<Pair> {
  const primary = await startPostgres({ settings: { wal_level: 'replica', max_wal_senders: '5' } })
  const link = await startProxy(primary.port)
  const clients = await startProxy(primary.port)
  const folder = findPostgres()!
  const user = serverUser()
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-standby-'))
  if (user) chownSync(directory, user.uid, user.gid)
  const data = join(directory, 'data')
  const run = (program: string, ...args: readonly string[]): string =>
    execFileSync(join(folder, program), args, {
      cwd: directory,
      timeout: 60_000,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      ...user,
    })
  // Not through the proxy, which is in this process: it forwards nothing while this process waits for the program.
  run('pg_basebackup', '-D', data, '-d', connectionTo(primary.port), '-X', 'stream', '-R')
  appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${connectionTo(link.port)}'\n`)
  const port = await freePort()
  const sql = (on: number, text: string): string =>
    run('psql', '-h', '127.0.0.1', '-p', String(on), '-U', 'postgres', '-Atc', text).trim()
  const standby = await ServerProcess.start(
    {
      name: 'postgres',
      binary: join(folder, 'postgres'),
      args: () => [
        '-D',
        data,
        '-c',
        `port=${port}`,
        '-c',
        'listen_addresses=127.0.0.1',
        '-c',
        'unix_socket_directories=',
        '-c',
        'dynamic_shared_memory_type=mmap',
        '-c',
        'fsync=off',
        '-c',
        'hot_standby=on',
      ],
      answers: async () => isReady(),
      portTaken: /could not create any TCP\/IP sockets/,
      endSignal: 'SIGINT',
      ...(user && { user }),
    },
    port,
  )
  function isReady(): boolean {
    // Fails as long as it does not accept connections.
    return spawnSync(join(folder, 'pg_isready'), ['-q', '-h', '127.0.0.1', '-p', String(port)]).status === 0
  }
  const url = `postgres://postgres@127.0.0.1:${clients.port}/postgres`
  return {
    open(isReplicated) {
      if (isReplicated) {
        sql(primary.port, "ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        sql(primary.port, 'SELECT pg_reload_conf()')
      }
      return new PostgresStorage({ url })
    },
    async received() {
      const wanted = sql(primary.port, 'SELECT pg_current_wal_flush_lsn()')
      await reached(async () => sql(port, `SELECT pg_last_wal_receive_lsn() >= '${wanted}'`) === 't')
    },
    async cutLink() {
      await link.refuse(true)
      link.cut()
    },
    async promote() {
      primary.kill('SIGQUIT')
      await primary.exited
      // The new primary has no standby: it waits for none.
      run('pg_ctl', 'promote', '-D', data, '-w')
      sql(port, "ALTER SYSTEM SET synchronous_standby_names = ''")
      sql(port, 'SELECT pg_reload_conf()')
      clients.retarget(port)
      clients.cut()
    },
    async stop() {
      await Promise.all([clients.stop(), link.stop()])
      await Promise.all([primary.stop(), standby.stop()])
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function reached(isThere: () => Promise<boolean>): Promise<void> {
  if (!(await eventually(30_000, isThere))) throw new Error('failover: the replica lags by more than 30 s')
}

async function offsetOf(server: RedisServer, name: string): Promise<number> {
  const info = String(await askRedis(server, 'INFO', 'replication'))
  return Number(new RegExp(`${name}:(\\d+)`).exec(info)?.[1])
}
