// What a server, or the system, counts of the work that it is given.

import { readFileSync } from 'node:fs'
import pg from 'pg'
import type { RedisServer } from '../../servers/redis.ts'

export interface Counter {
  readonly names: readonly string[]
  /** Since some beginning, in the order of the names. */
  read(): Promise<number[]>
  close(): Promise<void>
}

export async function redisCounter(server: RedisServer): Promise<Counter> {
  const client = await server.connect()
  return {
    names: ['requests', 'commands', 'server CPU µs'],
    async read() {
      const stats = String(await client.send('INFO', 'commandstats'))
      const rest = String(await client.send('INFO', 'everything'))
      const value = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(rest)![1])
      const calls = [...stats.matchAll(/^cmdstat_(\w+).*?:calls=(\d+)/gm)]
      const sum = (isOne: (name: string) => boolean): number =>
        calls.filter(([, name]) => isOne(name!)).reduce((total, [, , count]) => total + Number(count), 0)
      const all = sum((name) => name !== 'info')
      const scripts = sum((name) => name === 'evalsha')
      // What a script calls is no request: ours send scripts alone.
      return [scripts || all, all, 1e6 * (value('used_cpu_user') + value('used_cpu_sys'))]
    },
    close: async () => client.close(),
  }
}

export function postgresCounter(url: string): Counter {
  const client = new pg.Client(url)
  const connected: Promise<void> = client.connect()
  return {
    names: ['commits', 'log bytes'],
    async read() {
      await connected
      // Each transaction that writes or notifies takes a number; this one too.
      const { rows } = await client.query(
        "SELECT pg_current_xact_id()::text AS number, pg_current_wal_lsn() - '0/0'::pg_lsn AS bytes",
      )
      return [Number(rows[0].number), Number(rows[0].bytes)]
    },
    close: () => client.end(),
  }
}

/** Of this process, on Linux. */
export function diskCounter(): Counter {
  return {
    names: ['write calls', 'bytes written'],
    async read() {
      const text = readFileSync('/proc/self/io', 'utf8')
      const value = (name: string): number => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(text)![1])
      return [value('syscw'), value('wchar')]
    },
    close: async () => {},
  }
}
