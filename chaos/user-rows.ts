// A user table beside the jobs. A row is written in the transaction that adds a job, under its id: at the end every such job
// has a row, and every row has a job.

import { generateId, type Storage } from 'holdfast'
import { type NewJob } from 'holdfast/storage'
import type { Payload } from './jobs.ts'
import { typeOf } from './jobs.ts'

/** The `query` of the storage's transactions: it returns text only. */
export interface Tx {
  query(text: string, values?: readonly string[]): Promise<readonly (readonly (string | null)[])[]>
}

const keptMs = 3_600_000

export async function makeTable(storage: Storage): Promise<void> {
  await storage.transaction!((tx) => (tx as Tx).query('CREATE TABLE user_rows (id text PRIMARY KEY)'))
}

export async function readRows(storage: Storage): Promise<string[]> {
  const rows = await storage.transaction!((tx) => (tx as Tx).query('SELECT id AS c0 FROM user_rows'))
  return rows.map(([id]) => id!)
}

export interface LinkedJob {
  readonly id: string
  readonly payload: Payload
  readonly maxAttempts: number
}

/** Writes the row and the job, or neither. Resolves with the job's verdict after the commit. */
export async function addWithRow(storage: Storage, job: LinkedJob): Promise<string> {
  return storage.transaction!((tx) => write(storage, tx as Tx, job))
}

/** Writes both and rolls back. */
export async function addAndUndo(storage: Storage, job: LinkedJob): Promise<void> {
  const undone = new Error('on purpose')
  try {
    await storage.transaction!(async (tx) => {
      await write(storage, tx as Tx, job)
      throw undone
    })
  } catch (error) {
    if (error !== undone) throw error
  }
}

async function write(storage: Storage, tx: Tx, { id, payload, maxAttempts }: LinkedJob): Promise<string> {
  // A job whose reply was lost is added again.
  await tx.query('INSERT INTO user_rows (id) VALUES ($1) ON CONFLICT DO NOTHING', [id])
  const [answer] = await (storage as Storage<Tx>).add([newJob(id, payload, maxAttempts)], tx)
  return answer!.verdict
}

/** A job as a Queue would add it. */
function newJob(id: string, payload: Payload, maxAttempts: number): NewJob {
  return {
    type: typeOf('kept'),
    id,
    token: generateId(),
    payload: Buffer.from(JSON.stringify(payload)),
    maxAttempts,
    retention: { completedMs: keptMs, failedMs: keptMs, cancelledMs: keptMs },
  }
}
