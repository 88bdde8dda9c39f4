// A table of the user's beside the jobs. A row is written in the transaction that adds a job, under its id: at the end there is
// one with every such job, and none without.

import { generateId, type Storage } from 'holdfast'
import { type NewJob } from 'holdfast/storage'
import type { Payload } from './jobs.ts'
import { typeOf } from './jobs.ts'

/** As the storage's own transactions have it: text alone comes back. */
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

/** The row and the job, or neither. Resolves with the verdict about the job, once both are committed. */
export async function addWithRow(storage: Storage, job: LinkedJob): Promise<string> {
  return storage.transaction!((tx) => write(storage, tx as Tx, job))
}

/** Both, and then the user thinks better of it. */
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
  // One whose answer was lost is asked for again.
  await tx.query('INSERT INTO user_rows (id) VALUES ($1) ON CONFLICT DO NOTHING', [id])
  const [answer] = await (storage as Storage<Tx>).add([newJob(id, payload, maxAttempts)], tx)
  return answer!.verdict
}

/** As a Queue would have it. */
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
