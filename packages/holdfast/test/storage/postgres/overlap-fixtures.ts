// Drives transactions that overlap: one is held open until the other call waits for its locks.

import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { PostgresStorage } from '../../../src/storage/postgres/index.ts'
import type { ClaimedJob, NewJob, Outcome } from '../../../src/storage/storage.ts'
import { newSchema, postgresPlace, postgresWay } from '../../postgres-subject.ts'

const kept = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }

export const job = (id: string, fields: Partial<NewJob> = {}): NewJob => ({
  type: 'mail',
  id,
  token: `token of ${id}`,
  retention: kept,
  maxAttempts: 3,
  ...fields,
})

export const ref = (id: string): { type: string; id: string } => ({ type: 'mail', id })

export async function open(schema = newSchema()): Promise<PostgresStorage> {
  // These tests are about which call waits for which, not for how long.
  const storage = new PostgresStorage({ ...(await postgresWay()), schema, callTimeoutMs: 30_000 })
  await storage.connect()
  return storage
}

export const claim = async (storage: PostgresStorage, slots = 100): Promise<readonly ClaimedJob[]> => {
  const request = { worker: `worker ${++workers}`, slots, types: [{ type: 'mail', leaseMs: 60_000 }] }
  return (await storage.claim(request)).jobs
}
let workers = 0

export const done = ({ type, id, worker, attempt }: ClaimedJob): Outcome => ({
  type,
  id,
  worker,
  attempt,
  kind: 'completed',
})

/** A transaction of the app. */
export async function begin(): Promise<pg.PoolClient> {
  const client = await (await postgresPlace()).pool.connect()
  await client.query('BEGIN')
  return client
}

export async function end(client: pg.PoolClient, how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  await client.query(how)
  client.release()
}

/** Resolves when a call waits for a lock. */
export async function lockWait(): Promise<void> {
  const { pool } = await postgresPlace()
  for (;;) {
    const { rows } = await pool.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    if (rows.length > 0) return
    await sleep(5)
  }
}

export const stateOf = async (storage: PostgresStorage, id: string): Promise<string | undefined> =>
  (await storage.get([ref(id)]))[0]?.state
