// Counters of a server or of the operating system.

import { readFileSync } from 'node:fs'
import { Client } from 'pg'
import type { RedisServer } from '../../servers/redis.ts'

export interface Counter {
  readonly names: readonly string[]
  /** Values since the start, in the order of the names. */
  read(): Promise<number[]>
  close(): Promise<void>
}

export async function redisCounter(server: RedisServer): Promise<Counter> {
  const client = await server.connect()
  return {
    names: ['reads of socket', 'commands', 'server CPU µs'],
    async read() {
      const stats = String(await client.send('INFO', 'commandstats'))
      const rest = String(await client.send('INFO', 'everything'))
      const value = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(rest)![1])
      const commands = [...stats.matchAll(/^cmdstat_(?!info).*?:calls=(\d+)/gm)]
      const sum = commands.reduce((total, [, count]) => total + Number(count), 0)
      return [value('total_reads_processed'), sum, 1e6 * (value('used_cpu_user') + value('used_cpu_sys'))]
    },
    close: async () => client.close(),
  }
}

export function postgresCounter(url: string): Counter {
  const client = new Client(url)
  const connected: Promise<void> = client.connect()
  return {
    names: ['commits', 'log bytes', 'server CPU µs'],
    async read() {
      await connected
      // Each transaction that writes or notifies takes a transaction id; this one too.
      const { rows } = await client.query(
        "SELECT pg_current_xact_id()::text AS number, pg_current_wal_lsn() - '0/0'::pg_lsn AS bytes",
      )
      const backends = await client.query('SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()')
      const cpu = (backends.rows as { pid: number }[]).reduce((sum, { pid }) => sum + cpuMicros(pid), 0)
      return [Number(rows[0].number), Number(rows[0].bytes), cpu]
    },
    close: () => client.end(),
  }
}

/** CPU of another process, on Linux, with ticks of 10 ms. */
function cpuMicros(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return 10_000 * (Number(fields[11]) + Number(fields[12]))
}

/** Disk writes of this process, on Linux. */
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
