// Postgres. It is stopped as by `pg_ctl stop -m immediate`: all sessions end at once, without a checkpoint, and it recovers from
// the WAL. After a SIGKILL of the postmaster its sessions would live on for a while.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Storage } from 'holdfast'
import { startPostgres } from '../servers/postgres.ts'
import { type Service, serviceOn } from './service.ts'
import type { Tx } from './user-rows.ts'

export async function servePostgres(slots: readonly string[]): Promise<Service> {
  const server = await startPostgres()
  const kept = join(server.directory, 'server.log')
  return serviceOn(server, { killSignal: 'SIGQUIT', kept, pids: () => withChildren(server.pid) }, slots)
}

/** Each session is a process of its own. */
function withChildren(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
  return [
    pid,
    ...stdout
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map(Number),
  ]
}

/** Ends a random session, whatever it is doing. Returns false if there was none. */
export async function endSession(storage: Storage): Promise<boolean> {
  const rows = await storage.transaction!((tx) =>
    (tx as Tx).query(
      `SELECT pg_terminate_backend(pid)::text AS c0 FROM (
         SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
         ORDER BY random() LIMIT 1
       ) AS chosen`,
    ),
  )
  return rows.some(([ended]) => ended === 'true')
}
