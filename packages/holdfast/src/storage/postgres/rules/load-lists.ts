// Reads the lists that a claim, a recovery or a sweep works on: due jobs, expired leases, the jobs of ended chains. Jobs that
// another transaction has locked are left out.

import type { Row } from '../connection/database.ts'
import { cell } from '../sql/job-columns.ts'
import { arrayOf } from '../sql/text.ts'
import type { Loader } from './loader.ts'
import { nameOf, namesOf } from './row-name.ts'

export interface TypeLimit {
  readonly tid: number
  readonly limit: number
}

const limitsOf = (wanted: readonly TypeLimit[]): string[] => [
  arrayOf(wanted.map(({ tid }) => tid)),
  arrayOf(wanted.map(({ limit }) => limit)),
]

const ofType = (rows: readonly Row[], tid: number): Row[] => rows.filter((row) => Number(row[cell.tid]) === tid)

/** The first due jobs of each type, with their blockers. None of them has a group. */
export async function loadDue(loader: Loader, wanted: readonly TypeLimit[]): Promise<void> {
  const { connection, loaded, statements } = loader
  const rows = await connection.query(statements.due, [...limitsOf(wanted), loader.now])
  await loader.keepLocked(rows)
  // A claimed job comes with the results of its blockers.
  for (const row of rows) loader.wantBlockers(row, loaded.wanted.jobs)
  for (const { tid, limit } of wanted) {
    const seqs = ofType(rows, tid).map((row) => Number(row[cell.seq]))
    loaded.due.set(tid, { seqs, isComplete: seqs.length < limit })
  }
}

/** Expired leases. @param startedBefore also attempts that started before it, in epoch ms, whatever their lease */
export async function loadLost(
  loader: Loader,
  wanted: readonly TypeLimit[],
  startedBefore: number | null,
): Promise<void> {
  const { connection, statements } = loader
  const lost = [...limitsOf(wanted), loader.now]
  const rows =
    startedBefore === null
      ? await connection.query(statements.lost, lost)
      : await connection.query(statements.lostOrOld, [...lost, startedBefore])
  await keepLost(loader, wanted, rows)
}

/** Expired leases by the time of the statement: it is sent before the answer that has the time. */
export const readLost = ({ connection, statements }: Loader, wanted: readonly TypeLimit[]): Promise<Row[]> =>
  connection.query(statements.lost, [...limitsOf(wanted), null])

export async function keepLost(loader: Loader, wanted: readonly TypeLimit[], rows: readonly Row[]): Promise<void> {
  const { connection, loaded, statements } = loader
  await loader.keepLocked(rows)
  const isGroupLoaded = (row: Row): boolean => loaded.groups.has(nameOf(Number(row[cell.tid]), row[cell.grp]!))
  const unloaded = rows.filter((row) => row[cell.grp] !== null && !isGroupLoaded(row))
  if (unloaded.length > 0) {
    const names = unloaded.map((row) => ({ tid: Number(row[cell.tid]), key: row[cell.grp]! }))
    loader.keepGroups(await connection.query(statements.lockFreeGroups, namesOf(names)))
  }
  for (const { tid } of wanted) {
    // A job whose group another transaction has locked is skipped, as if it were locked itself.
    const free = ofType(rows, tid).filter((row) => row[cell.grp] === null || isGroupLoaded(row))
    loaded.lost.set(
      tid,
      free.map((row) => Number(row[cell.seq])),
    )
  }
}

/** Loads all jobs of the chains of these locked first jobs. A job inside a chain needs no other. */
export async function loadChains(loader: Loader, rows: readonly Row[]): Promise<void> {
  await loader.keepLocked(rows)
  const { wanted, chains } = loader.loaded
  for (const row of rows) {
    if (row[cell.tail] !== null) wanted.chains.add(Number(row[cell.seq]))
    if (row[cell.chain] !== null) wanted.seqs.add(Number(row[cell.chain]))
  }
  if (wanted.chains.size + wanted.seqs.size === 0) return
  await loader.load()
  for (const seqs of chains.values()) for (const seq of seqs) wanted.seqs.add(seq)
  await loader.load()
}
