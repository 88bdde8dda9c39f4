// The connection that a store on SQLite writes with: its own file or connection, or that of a SqliteStorage. In the second case
// jobs can be part of the same transaction.

import type { DatabaseSync } from 'node:sqlite'
import { type Clock, HoldfastError } from 'holdfast'
import { retryWhileBusy, type SqliteStorage, type SqliteTransaction } from 'holdfast/sqlite'
import { Mutex } from './mutex.ts'

export interface WriteTransaction {
  readonly database: DatabaseSync
  /** The storage's transaction; undefined if no storage shares the connection. */
  readonly storageTx: SqliteTransaction | undefined
}

export interface Writer {
  /** BEGIN IMMEDIATE, `run`, COMMIT; ROLLBACK if `run` rejects. One transaction at a time. */
  transaction<T>(run: (tx: WriteTransaction) => Promise<T>): Promise<T>
  /** Runs statements in one transaction, which calls to the storage of the same connection share. @param run may run more than once */
  write<T>(run: (database: DatabaseSync) => T): Promise<T>
  close(): Promise<void>
}

export type OpenWriter = () => Promise<Writer>

/** Writes with the connection of the jobs. The storage begins, commits and waits for locks. */
export function storageWriter(storage: SqliteStorage): OpenWriter {
  return async () => {
    await storage.connect()
    return {
      transaction: (run) => storage.transaction((tx) => run({ database: tx.database, storageTx: tx })),
      write: (run) => storage.write(run),
      close: () => storage.disconnect(),
    }
  }
}

/** Longest time that a call waits for another transaction, of this process or another, in ms. */
const waitMs = 5_000
/** Longest time that SQLite itself waits for a lock, which blocks the event loop, in ms. */
const busyTimeoutMs = 5

/** Writes to a file, to ':memory:', or with a connection of the app, which closes it. */
export function ownWriter(source: string | DatabaseSync, clock: Clock): OpenWriter {
  const mutex = new Mutex(clock, waitMs)
  // Closing a database in memory would lose its content, so it is opened once and kept.
  let kept: DatabaseSync | undefined
  return async () => {
    const isFile = typeof source === 'string' && source !== ':memory:'
    const database = kept ?? (typeof source === 'string' ? await openFile(source, clock) : source)
    if (!isFile) kept = database
    const transaction: Writer['transaction'] = (run) => mutex.run(() => inTransaction(database, clock, run))
    return {
      transaction,
      write: (run) => transaction(async () => run(database)),
      close: async () => {
        await mutex.idle()
        if (isFile) database.close()
      },
    }
  }
}

async function inTransaction<T>(
  database: DatabaseSync,
  clock: Clock,
  run: (tx: WriteTransaction) => Promise<T>,
): Promise<T> {
  // One turn of the event loop is short beside a sync of the disk: calls of the same turn share a commit.
  if (database.location() !== null) await new Promise<void>((resolve) => clock.soon(resolve))
  if (database.isTransaction) {
    const message = 'sqliteStore: the app has a transaction open on this database. Pass store.join(database) as tx.'
    throw new HoldfastError('INVALID_ARGUMENT', message)
  }
  await retryWhileBusy(clock, () => database.exec('BEGIN IMMEDIATE'), lateAfter(clock))
  try {
    const answer = await run({ database, storageTx: undefined })
    database.exec('COMMIT')
    return answer
  } catch (error) {
    // SQLite rolls back by itself when the disk is full.
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

async function openFile(path: string, clock: Clock): Promise<DatabaseSync> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs })
  const prepare = (): void =>
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = 1')
  try {
    await retryWhileBusy(clock, prepare, lateAfter(clock))
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Ends the retries after `waitMs`. */
function lateAfter(clock: Clock): () => boolean {
  const deadline = clock.monotonic() + waitMs
  return () => clock.monotonic() >= deadline
}
