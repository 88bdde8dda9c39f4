// Takes the data of a server away, and restarts it: it comes back without a job. The tables of Postgres stay, as after a restore of
// an empty copy.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Tx } from '../../user-rows.ts'
import type { Place } from '../open-place.ts'

export async function emptyServer({ service, open }: Place): Promise<void> {
  const storage = await open()
  await storage.connect()
  if (storage.transaction) await storage.transaction((tx) => emptyTables(tx as Tx))
  else await storage.clear()
  await storage.disconnect()
  await service!.kill()
  await sleep(200)
  await service!.restart()
}

async function emptyTables(tx: Tx): Promise<void> {
  const tables = await tx.query(
    `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS c0 FROM pg_tables
     WHERE schemaname = 'holdfast' AND tablename <> 'migrations'`,
  )
  await tx.query(`TRUNCATE ${tables.map(([name]) => name).join(', ')} CASCADE`)
}
