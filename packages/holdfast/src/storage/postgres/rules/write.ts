// Writes what a run of the rules has changed, by a statement for each kind of it. Rows that were absent are inserted
// first: if somebody else was quicker, nothing else is written yet, and the call begins anew.

import type { Connection, Statement, Value } from '../connection/database.ts'
import { conflict } from './loaded.ts'
import { changingCells, firstProvisional, fixedCells, type PostgresJob } from './job.ts'
import type { PostgresMove } from './move.ts'
import type { Statements } from './statements.ts'
import { arrayOf, bytesText, encodeText, optionalText } from './text.ts'

/** @param hint channel and message, to be sent along. @returns whether it was */
export async function write(
  connection: Connection,
  statements: Statements,
  move: PostgresMove,
  hint: readonly [channel: string, message: string] | undefined,
): Promise<boolean> {
  const { set, now } = move
  set.end()
  const real = await takeNumbers(connection, statements, set.numbersTaken)
  const run = async (statement: Statement, rows: readonly Value[][]): Promise<void> => {
    if (rows.length > 0) await connection.query(statement, transposed(rows))
  }
  const insert = async (statement: Statement, rows: readonly Value[][]): Promise<void> => {
    if (rows.length > 0 && (await connection.query(statement, transposed(rows))).length < rows.length) throw conflict
  }

  const jobs = [...set.dirty]
  const isKept = (job: PostgresJob): boolean => !job.isErased && !isOver(job, now)
  // What goes makes room for what comes under the same name.
  await run(statements.eraseJobs, jobs.filter((job) => !job.isNew && !isKept(job)).map(nameCells))
  await insert(
    statements.addJobs,
    jobs
      .filter((job) => job.isNew && isKept(job))
      .map((job) => [...fixedCells(job, real), ...changingCells(job, real)]),
  )

  const keys = [...set.keysSet.values()]
  const held = keys.filter(({ mark }) => mark)
  const keyCells = ({ type, key, mark }: (typeof keys)[number]): Value[] => {
    const { id, token, mode, shared, until } = mark!
    return [type.tid, encodeText(key), encodeText(id), encodeText(token), mode, String(shared), until]
  }
  await insert(statements.addKeys, held.filter(({ isNew }) => isNew).map(keyCells))
  await run(statements.changeKeys, held.filter(({ isNew }) => !isNew).map(keyCells))
  const dropped = keys.filter(({ mark, isNew }) => !mark && !isNew)
  await run(
    statements.eraseKeys,
    dropped.map(({ type, key }) => [type.tid, encodeText(key)]),
  )

  const groups = [...set.groups.values()]
  const kept = groups.filter(({ fate }) => fate === 'kept')
  const groupCells = ({ type, key, runningSeq, placedSeq, paused }: (typeof groups)[number]): Value[] => [
    type.tid,
    encodeText(key),
    runningSeq === undefined ? null : real(runningSeq),
    placedSeq === undefined ? null : real(placedSeq),
    paused?.since ?? null,
    optionalText(paused?.by),
  ]
  await insert(statements.addGroups, kept.filter(({ isNew }) => isNew).map(groupCells))
  await run(statements.changeGroups, kept.filter(({ isNew }) => !isNew).map(groupCells))
  const gone = groups.filter(({ fate, isNew }) => fate === 'erased' && !isNew)
  await run(
    statements.eraseGroups,
    gone.map(({ type, key }) => [type.tid, encodeText(key)]),
  )

  const changed = jobs.filter((job) => !job.isNew && isKept(job))
  if (changed.length > 0) {
    const rows = changed.map((job) => changeCells(job, real))
    await connection.query(statements.changeJobs, [...transposed(rows), ...(hint ?? [null, null])])
  }

  const dependents = [...set.dependents.values()]
  const pairs = (list: 'added' | 'deleted'): Value[][] =>
    dependents.flatMap((of) => of[list].map((seq) => [of.tid, of.key, real(seq)]))
  await run(statements.eraseDependents, pairs('deleted'))
  await run(statements.addDependents, pairs('added'))
  return changed.length > 0
}

/** A record that is kept for no time, and that nothing else hangs on, is gone at its end. */
function isOver(job: PostgresJob, now: number): boolean {
  if (!job.sweepable || (job.expiresAt ?? Infinity) > now) return false
  return job.chainSeq === undefined && job.tailSeq === undefined && !job.keyPart && job.dependentCount === 0
}

/** Of those that were given out in this call, the real ones: taken now, when all is locked, so that they are in order. */
async function takeNumbers(
  connection: Connection,
  { numbers }: Statements,
  count: number,
): Promise<(number: number) => number> {
  if (count === 0) return (number) => number
  const taken = (await connection.query(numbers, [count])).map(([number]) => Number(number))
  return (number) => (number < firstProvisional ? number : taken[number - firstProvisional]!)
}

const nameCells = ({ type, id }: PostgresJob): Value[] => [type.tid, encodeText(id)]

function changeCells(job: PostgresJob, real: (number: number) => number): Value[] {
  const payload = job.payloadChanged ? bytesText(job.payload) : null
  return [...nameCells(job), String(job.payloadChanged), payload, ...changingCells(job, real)]
}

/** Rows to columns, each an array's literal. */
function transposed(rows: readonly Value[][]): string[] {
  return rows[0]!.map((_, index) => arrayOf(rows.map((row) => row[index]!)))
}
