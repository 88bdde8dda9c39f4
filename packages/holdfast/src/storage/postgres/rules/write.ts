// Writes what a run of the rules has changed, by one statement for each kind of change. Rows that were absent are inserted first:
// if another transaction has inserted one meanwhile, nothing else is written yet, and the call starts over. The first of them are
// the jobs: if a call inserts one job and no other row, a conflict leaves nothing written.

import type { Connection, Statement, Value } from '../connection/database.ts'
import { cell, firstProvisional } from '../sql/job-columns.ts'
import { encodeSearchValue } from '../sql/search-value.ts'
import type { Statements } from '../sql/statements.ts'
import { arrayOf, encodeBytes, encodeText, joinedBytes, numbersOf } from '../sql/text.ts'
import { groupCells } from './group.ts'
import { changingCells, type FinalNumber, fixedCells, type PostgresJob } from './job.ts'
import { conflict } from './loaded-rows.ts'
import type { PostgresMove } from './move.ts'
import { reportParams } from './report.ts'
import { nameOf } from './row-name.ts'
import type { ChangedKey } from './working-keys.ts'
import type { WorkingSet } from './working-set.ts'

/** Writes without an answer that is needed. */
export type Send = (statement: Statement, values: readonly Value[]) => Promise<unknown> | void

/** @param send for statements that cannot conflict @param hint channel and message, to be sent along @returns whether it was sent */
export async function write(
  connection: Connection,
  send: Send,
  statements: Statements,
  move: PostgresMove,
  hint: readonly [channel: string, message: string] | undefined,
): Promise<boolean> {
  const { set, now } = move
  set.dependents.end()
  const run = async (statement: Statement, rows: readonly Value[][]): Promise<void> => {
    if (rows.length > 0) await send(statement, transposed(rows))
  }
  const insert = async (statement: Statement, rows: readonly Value[][]): Promise<void> => {
    if (rows.length > 0 && (await connection.query(statement, transposed(rows))).length < rows.length) throw conflict
  }

  const jobs = [...set.dirty]
  const isKept = (job: PostgresJob): boolean => !job.isErased && !isExpired(job, now)
  const erased = jobs.filter((job) => !job.isNew && !isKept(job))
  const erase = async (): Promise<void> => {
    await run(statements.eraseJobs, erased.map(nameCells))
    await run(
      statements.eraseIndexed,
      erased.filter((job) => set.indexed.has(job)).map(({ accepted }) => [accepted]),
    )
  }
  const added = jobs.filter((job) => job.isNew && isKept(job))
  const changed = jobs.filter((job) => !job.isNew && isKept(job))
  const isReplacing = isAnyReplaced(erased, added)
  if (isReplacing) await erase()
  const final =
    added.length > 0
      ? await addJobs(connection, statements, set, added, changed.length > 0 ? undefined : hint)
      : await takeNumbers(connection, statements, set)
  if (!isReplacing) await erase()
  await run(
    statements.addDeadlines,
    added.flatMap((job) => deadlineCells(job, final)),
  )
  await run(
    statements.addSearch,
    added.flatMap((job) => searchCells(job, final)),
  )

  const keys = [...set.keys.changed()]
  const held = keys.filter(({ mark }) => mark)
  await insert(statements.addKeys, held.filter(({ isNew }) => isNew).map(keyCells))
  await run(statements.changeKeys, held.filter(({ isNew }) => !isNew).map(keyCells))
  const dropped = keys.filter(({ mark, isNew }) => !mark && !isNew)
  await run(
    statements.eraseKeys,
    dropped.map(({ type, key }) => [type.tid, encodeText(key)]),
  )

  const groups = [...set.groups.values()]
  const kept = groups.filter(({ fate }) => fate === 'kept')
  await insert(
    statements.addGroups,
    kept.filter(({ isNew }) => isNew).map((group) => groupCells(group, final)),
  )
  await run(
    statements.changeGroups,
    kept.filter(({ isNew }) => !isNew).map((group) => groupCells(group, final)),
  )
  const gone = groups.filter(({ fate, isNew }) => fate === 'erased' && !isNew)
  await run(
    statements.eraseGroups,
    gone.map(({ type, key }) => [type.tid, encodeText(key)]),
  )

  await run(statements.changeFlows, set.flows.cells(now, final))

  if (changed.length > 0) {
    const rows = changed.map((job) => changeCells(job, final, set.indexed.has(job)))
    await send(statements.changeJobs, [...transposed(rows), ...(hint ?? [null, null])])
  }

  const reports = [...set.reports].filter(([job]) => isKept(job))
  if (reports.length > 0) {
    const numbered = reports.map(([job, report]) => [final(job.accepted), report] as const)
    await send(statements.addReports, reportParams(numbered))
  }

  const dependents = [...set.dependents.values()]
  const pairs = (list: 'added' | 'deleted'): Value[][] =>
    dependents.flatMap((of) => of[list].map((seq) => [of.tid, of.key, final(seq)]))
  await run(statements.eraseDependents, pairs('deleted'))
  await run(statements.addDependents, pairs('added'))
  return changed.length + added.length > 0
}

/** Whether a new job has the name of an erased one, which must be deleted first then. */
function isAnyReplaced(erased: readonly PostgresJob[], added: readonly PostgresJob[]): boolean {
  if (erased.length === 0 || added.length === 0) return false
  const names = new Set(erased.map(({ type, id }) => nameOf(type.tid, id)))
  return added.some(({ type, id }) => names.has(nameOf(type.tid, id)))
}

/** The insert replaces provisional numbers. */
const unchanged: FinalNumber = (number) => number

/** Inserts new jobs, with numbers of the sequence for the provisional ones of this call. */
async function addJobs(
  connection: Connection,
  statements: Statements,
  { numbersTaken, indexed }: WorkingSet,
  jobs: readonly PostgresJob[],
  hint: readonly [channel: string, message: string] | undefined,
): Promise<FinalNumber> {
  const rows = jobs.map((job) => [...fixedCells(job, unchanged), ...changingCells(job, unchanged, indexed.has(job))])
  const lists = transposed(rows)
  const [starts, sizes, payloads] = joinedBytes(jobs.map(({ payload }) => payload))
  lists[cell.payload] = starts
  const values = [...lists, numbersTaken, ...(hint ?? [null, null]), sizes, payloads]
  const [answer] = await connection.query(statements.addJobs, values)
  if (Number(answer![1]) < jobs.length) throw conflict
  return finalNumbers(numbersOf(answer![0]!))
}

/** A record with a retention of 0 ms is deleted at its end, unless other rows refer to it. */
function isExpired(job: PostgresJob, now: number): boolean {
  if (!job.sweepable || (job.expiresAt ?? Infinity) > now) return false
  return job.chainSeq === undefined && job.tailSeq === undefined && !job.keyPart && job.dependentCount === 0
}

/**
 * Takes numbers from the sequence for the provisional ones of a call that adds no jobs. Only now, when all rows are locked, so that the
 * numbers are in order.
 */
async function takeNumbers(
  connection: Connection,
  { numbers }: Statements,
  { numbersTaken, loaded }: WorkingSet,
): Promise<FinalNumber> {
  if (numbersTaken === 0) return unchanged
  const missing = numbersTaken - loaded.numbers.length
  if (missing <= 0) return finalNumbers(loaded.numbers)
  const more = (await connection.query(numbers, [missing])).map(([number]) => Number(number))
  return finalNumbers([...loaded.numbers, ...more])
}

const finalNumbers =
  (taken: readonly number[]): FinalNumber =>
  (number) =>
    number < firstProvisional ? number : taken[number - firstProvisional]!

const nameCells = ({ type, id }: PostgresJob): Value[] => [type.tid, encodeText(id)]

function deadlineCells(job: PostgresJob, final: (number: number) => number): Value[][] {
  const { accepted, type, id, deadlineAt = Infinity } = job
  return deadlineAt === Infinity ? [] : [[final(accepted), type.tid, encodeText(id), deadlineAt]]
}

function searchCells(job: PostgresJob, final: (number: number) => number): Value[][] {
  const { accepted, type, id, createdAt, search = {} } = job
  return Object.entries(search).map(([name, value]) => [
    final(accepted),
    encodeText(name),
    encodeBytes(encodeSearchValue(value))!,
    type.tid,
    createdAt,
    encodeText(id),
  ])
}

function changeCells(job: PostgresJob, final: (number: number) => number, isIndexed: boolean): Value[] {
  const payload = job.payloadChanged ? encodeBytes(job.payload) : null
  return [...nameCells(job), String(job.payloadChanged), payload, ...changingCells(job, final, isIndexed)]
}

function keyCells({ type, key, mark }: ChangedKey): Value[] {
  const { id, token, mode, shared, until, replacedBy, version } = mark!
  const by = replacedBy === undefined ? null : encodeText(replacedBy)
  return [
    type.tid,
    encodeText(key),
    encodeText(id),
    encodeText(token),
    mode,
    String(shared),
    until,
    by,
    version ?? null,
  ]
}

/** Rows to columns, each an array literal. */
function transposed(rows: readonly Value[][]): string[] {
  return rows[0]!.map((_, index) => arrayOf(rows.map((row) => row[index]!)))
}
