// What is open between connect() and disconnect(). Every verb receives it.

import type { Listeners } from '../../rules/signals.ts'
import { type Database, openDatabase, type Statement } from '../connection/database.ts'
import { isSerializationFailure } from '../connection/errors.ts'
import { fastAddStatement } from '../fast/add.ts'
import { addOneStatement } from '../fast/add-one.ts'
import { AfterCommit } from '../fast/after-commit.ts'
import { fastCancelStatement } from '../fast/cancel.ts'
import { claimStatements } from '../fast/claim-statement.ts'
import { endOfferStatement, handingAddStatement, sweepOffersStatement } from '../fast/hand-over.ts'
import type { LeaseCache } from '../fast/lease-cache.ts'
import type { ScanCursor } from '../fast/scan-cursor.ts'
import { migrate } from '../migrations.ts'
import type { ResolvedPostgresOptions } from '../postgres-options.ts'
import type { PostgresMove } from '../rules/move.ts'
import { RuleRunner } from '../rules/rule-runner.ts'
import { TypeRegistry } from '../rules/type-registry.ts'
import type { Sql } from '../sql/statement.ts'
import { makeStatements } from '../sql/statements.ts'
import { clearStatement } from './clear.ts'
import { countStatements } from './count.ts'
import { diagnoseStatements } from './diagnose.ts'
import { extendStatement } from './extend.ts'
import { listStatements } from './list.ts'
import { nextDueAtStatement } from './next-due-at.ts'
import { nextStartStatement } from './next-start.ts'
import { sweepCountStatements } from './sweep-counts.ts'

type VerbStatements = ReturnType<typeof makeVerbStatements>

export const makeVerbStatements = (sql: Sql) => ({
  ...makeStatements(sql),
  addOne: addOneStatement(sql),
  fastAdd: fastAddStatement(sql, 'alone'),
  joinedAdd: fastAddStatement(sql, 'joined'),
  checkedAdd: fastAddStatement(sql, 'checked'),
  fastCancel: fastCancelStatement(sql),
  fastClaim: claimStatements(sql),
  handingAdd: handingAddStatement(sql),
  endOffer: endOfferStatement(sql),
  sweepOffers: sweepOffersStatement(sql),
  extend: extendStatement(sql, false),
  extendReporting: extendStatement(sql, true),
  list: listStatements(sql),
  count: countStatements(sql),
  nextDueAt: nextDueAtStatement(sql),
  nextStart: nextStartStatement(sql),
  diagnose: diagnoseStatements(sql),
  ...sweepCountStatements(sql),
  clear: clearStatement(sql),
})

/** What outlives a connection. */
export interface StorageParts {
  /** For statements that are made for one call. */
  readonly sql: Sql
  readonly statements: VerbStatements
  readonly cursor: ScanCursor
  readonly leases: LeaseCache
  /** Channel of the schema's hints. */
  readonly channel: string
  /** Channel of the schema's events. */
  readonly eventChannel: string
  /** Id of this storage, which ignores its own hints. */
  readonly instance: string
  readonly listenersOf: (type: string) => Listeners
}

export interface OpenStorage extends StorageParts {
  readonly database: Database
  readonly types: TypeRegistry
  readonly runner: RuleRunner
  /** Types of which the last claim had jobs with a group: the next one does not try the fast path. */
  readonly groupTypes: Set<string>
  /** Workers that claim here and may have an offer. */
  readonly offering: Set<string>
  /** Types of which some worker offered slots when a call looked last. */
  readonly offeredTypes: Set<string>
  /** Types of which the last single add wrote nothing by its short statement: the next one reads what exists in the same statement. */
  readonly repeatedTypes: Set<string>
  /** Heartbeats will need the reserved connection. */
  hasClaimed: boolean
}

/** Connects, and brings the schema up to date. */
export async function openStorage(options: ResolvedPostgresOptions, parts: StorageParts): Promise<OpenStorage> {
  const database = await openDatabase(options)
  try {
    await migrate(database, options.schema, options.migrate)
  } catch (error) {
    await database.close()
    throw error
  }
  const { statements, channel, eventChannel, instance, listenersOf } = parts
  const types = new TypeRegistry(statements, listenersOf, () => database.losses)
  const onMoved = (move: PostgresMove): void => noteArrivals(parts, move)
  const { clock } = options
  const runner = new RuleRunner({ database, statements, types, clock, channel, eventChannel, instance, onMoved })
  return {
    ...parts,
    database,
    types,
    runner,
    groupTypes: new Set(),
    offering: new Set(),
    offeredTypes: new Set(),
    repeatedTypes: new Set(),
    hasClaimed: false,
  }
}

/** Call it after the commit: scans must not begin behind a job that became claimable. */
export function noteArrivals({ cursor }: Pick<StorageParts, 'cursor'>, move: PostgresMove): void {
  for (const { type, priority, runAt, order } of move.arrivals()) {
    cursor.onArrival({ tid: type.tid, priority, runAt, order })
  }
}

/**
 * Runs a fast path of one statement; once it has answered, its events are sent. Undefined: nothing was written. That includes a
 * deadlock: the rules then run the call, and start over if they meet another.
 */
export async function runFast<T>(
  { channel, instance, listenersOf }: StorageParts,
  run: (afterCommit: AfterCommit) => Promise<T | undefined>,
): Promise<T | undefined> {
  const afterCommit = new AfterCommit(channel, instance, listenersOf)
  let answer: T | undefined
  try {
    answer = await run(afterCommit)
  } catch (error) {
    if (isSerializationFailure(error)) return undefined
    throw error
  }
  if (answer !== undefined) afterCommit.send()
  return answer
}

/** Opens the reserved connection in the background. */
export function openReserved({ database }: OpenStorage): void {
  database.reserved.query(ping, []).catch(() => {})
}

const ping: Statement = { name: '', text: 'SELECT NULL AS c0' }
