// Reads jobs at one instant, without locks, with the first and the last job of their chains.

import type { JobRef, RecordPart } from '../../storage.ts'
import type { Connection } from '../connection/database.ts'
import { wantJobs } from '../rules/load-request.ts'
import { LoadedRows } from '../rules/loaded-rows.ts'
import { PostgresMove } from '../rules/move.ts'
import { decodeReport } from '../rules/report.ts'
import { WorkingSet } from '../rules/working-set.ts'
import { cell, requestedParts } from '../sql/job-columns.ts'
import { arrayOf } from '../sql/text.ts'
import type { OpenStorage } from './open-storage.ts'

export async function snapshot(
  { types, statements }: OpenStorage,
  connection: Pick<Connection, 'query'>,
  refs: readonly JobRef[],
  parts: readonly RecordPart[] = [],
): Promise<PostgresMove> {
  await types.find(
    connection,
    refs.map(({ type }) => type),
  )
  const loaded = new LoadedRows()
  wantJobs(loaded, types, refs)
  const names = [...loaded.wanted.jobs.values()]
  const rows = await connection.query(statements.snapshot, [
    arrayOf(names.map(({ tid }) => tid)),
    arrayOf(names.map(({ key }) => key)),
    '{}',
    ...requestedParts(parts),
  ])
  const found = rows.map(([, ...row]) => row).filter((row) => row[cell.seq] !== null)
  for (const row of found) {
    loaded.keepJob(row.slice(0, -1), false)
    loaded.reports.set(Number(row[cell.seq]), decodeReport(row.at(-1)!))
  }
  await types.findByTid(
    connection,
    found.map((row) => Number(row[cell.tid])),
  )
  return new PostgresMove(new WorkingSet(loaded, types, true), Number(rows[0]![0]))
}
