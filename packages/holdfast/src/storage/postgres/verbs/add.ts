// add: the fast path if only ids decide; otherwise the rules.

import { add as addByRules } from '../../rules/add.ts'
import type { AddVerdict, NewJob } from '../../storage.ts'
import type { Row, Statement, Value } from '../connection/database.ts'
import { transactionEnded } from '../connection/transaction-ended.ts'
import { addOne, isPlainJob } from '../fast/add-one.ts'
import { AfterCommit } from '../fast/after-commit.ts'
import { fastAdd, isFastAdd, retryAfterDuplicate } from '../fast/add.ts'
import { handingAdd, mayBeHanded } from '../fast/hand-over.ts'
import { wantNewJobs } from '../rules/load-request.ts'
import type { JoinedTransaction } from '../rules/rule-runner.ts'
import { type OpenStorage, runFast } from './open-storage.ts'
import { registerJobs } from './register-types.ts'

export async function add(
  open: OpenStorage,
  jobs: readonly NewJob[],
  joined: JoinedTransaction | undefined,
): Promise<AddVerdict[]> {
  await registerJobs(open, jobs, joined)
  if (isFastAdd(jobs)) {
    const verdicts = await (joined ? addJoined(open, jobs, joined) : addAlone(open, jobs))
    if (verdicts) return verdicts
  }
  return open.runner.run(
    { want: (loaded) => wantNewJobs(loaded, open.types, jobs, true), rules: (move) => addByRules(move, jobs) },
    joined,
  )
}

async function addAlone(open: OpenStorage, jobs: readonly NewJob[]): Promise<AddVerdict[] | undefined> {
  const { database, statements, types, offeredTypes, repeatedTypes } = open
  const [first] = jobs as [NewJob, ...NewJob[]]
  const queryBy =
    (statement: Statement) =>
    (values: Value[]): Promise<Row[] | undefined> =>
      retryAfterDuplicate(() => database.query(statement, values))
  const onOffered = (type: string): void => void offeredTypes.add(type)
  if (offeredTypes.has(first.type) && mayBeHanded(jobs)) {
    const onNotOffered = (type: string): void => void offeredTypes.delete(type)
    const query = queryBy(statements.handingAdd)
    return runFast(open, (afterCommit) => handingAdd({ types, query, onNotOffered }, first, afterCommit))
  }
  const isOne = isPlainJob(jobs)
  if (isOne && !repeatedTypes.has(first.type)) {
    const query = queryBy(statements.addOne)
    const added = await runFast(open, (afterCommit) => addOne({ types, query, onOffered }, first, afterCommit))
    if (added) return added
  }
  const query = queryBy(statements.fastAdd)
  const verdicts = await runFast(open, (afterCommit) => fastAdd({ types, query, onOffered }, jobs, afterCommit))
  if (isOne && verdicts?.[0]!.verdict === 'added') repeatedTypes.delete(first.type)
  else if (isOne) repeatedTypes.add(first.type)
  return verdicts
}

/** Without a savepoint: the statement fails only if the server does. */
async function addJoined(
  { database, statements, types, cursor, channel, instance, listenersOf }: OpenStorage,
  jobs: readonly NewJob[],
  { connection, own, unguarded }: JoinedTransaction,
): Promise<AddVerdict[] | undefined> {
  const afterCommit = new AfterCommit(channel, own ? instance : undefined, listenersOf)
  const lockTimeoutMs = own ? database.lockTimeoutMs : null
  const query = async (given: Value[]): Promise<Row[]> => {
    const values = [...given, lockTimeoutMs]
    if (!unguarded) return connection.query(statements.joinedAdd, values)
    const marking = connection.query(statements.markTransaction, [])
    if (!unguarded.pipelines) await marking
    const [rows] = await Promise.all([connection.query(statements.checkedAdd, values), marking])
    if (rows[0]![0] === null) throw transactionEnded()
    return rows
  }
  const verdicts = await fastAdd({ types, query }, jobs, afterCommit)
  own?.afterCommit(() => {
    // Scans may have passed the places of these jobs before the commit.
    for (const { type, priority = 0 } of jobs) cursor.forget(types.tidOf(type)!, priority)
    afterCommit.send()
  })
  return verdicts
}
