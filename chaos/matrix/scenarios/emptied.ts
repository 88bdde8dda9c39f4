// Takes the data of a server away, and restarts it: it comes back without a job. The tables of Postgres stay, as after a restore of
// an empty copy.

import { setTimeout as sleep } from 'node:timers/promises'
import { StorageError } from 'holdfast'
import type { Storage } from 'holdfast/storage'
import type { Tx } from '../../user-rows.ts'
import type { Place } from '../open-place.ts'

export async function emptyServer({ service, open }: Place): Promise<void> {
  const storage = await open()
  await storage.connect()
  if (storage.transaction) await emptyAtOnce(storage as Storage<Tx>)
  else await storage.clear()
  await storage.disconnect()
  await service!.kill()
  await sleep(200)
  await service!.restart()
}

/** Processes go on meanwhile: a TRUNCATE of all tables may meet a deadlock with one of their calls. */
async function emptyAtOnce(storage: Storage<Tx>, triesLeft = 10): Promise<void> {
  try {
    await storage.transaction!(emptyTables)
  } catch (error) {
    if (triesLeft === 0 || !(error instanceof StorageError && error.transient)) throw error
    await emptyAtOnce(storage, triesLeft - 1)
  }
}

async function emptyTables(tx: Tx): Promise<void> {
  const tables = await tx.query(
    `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS c0 FROM pg_tables
     WHERE schemaname = 'holdfast' AND tablename <> 'migrations'`,
  )
  await tx.query(`TRUNCATE ${tables.map(([name]) => name).join(', ')} CASCADE`)
}
