// The connection that a store on SQLite writes with: its own file or connection, or that of a SqliteStorage. In the second case
// jobs can be part of the same transaction.

import type { DatabaseSync } from 'node:sqlite'
import { type Clock, HoldfastError } from 'holdfast'
import type { SqliteStorage, SqliteTransaction } from 'holdfast/sqlite'
import { Mutex } from './mutex.ts'

export interface WriteTransaction {
  readonly database: DatabaseSync
  /** The storage's transaction; undefined if no storage shares the connection. */
  readonly storageTx: SqliteTransaction | undefined
}

export interface Writer {
  open(): Promise<void>
  close(): Promise<void>
  /** BEGIN IMMEDIATE, `run`, COMMIT; ROLLBACK if `run` rejects. One transaction at a time. */
  transaction<T>(run: (tx: WriteTransaction) => Promise<T>): Promise<T>
}

/** Writes with the connection of the jobs. The storage begins, commits and waits for locks. */
export function storageWriter(storage: SqliteStorage): Writer {
  return {
    open: () => storage.connect(),
    close: () => storage.disconnect(),
    transaction: (run) => storage.transaction((tx) => run({ database: tx.database, storageTx: tx })),
  }
}

/** Longest time that a call waits for another transaction, of this process or another, in ms. */
const waitMs = 5_000
/** Longest time that SQLite itself waits for a lock, which blocks the event loop, in ms. */
const busyTimeoutMs = 5

/** Writes to a file, to ':memory:', or with a connection of the app, which closes it. */
export function ownWriter(source: string | DatabaseSync, clock: Clock): Writer {
  const mutex = new Mutex(clock, waitMs)
  let database: DatabaseSync | undefined
  return {
    async open() {
      database ??= typeof source === 'string' ? await openFile(source, clock) : source
    },
    async close() {
      await mutex.idle()
      // Closing a database in memory would lose its content.
      if (source === ':memory:' || typeof source !== 'string') return
      database?.close()
      database = undefined
    },
    transaction: (run) =>
      mutex.run(async () => {
        const db = database!
        // One turn of the event loop is short beside a sync of the disk: calls of the same turn share a commit.
        if (db.location() !== null) await new Promise<void>((resolve) => clock.soon(resolve))
        if (db.isTransaction) {
          const message =
            'sqliteStore: the app has a transaction open on this database. Pass store.join(database) as tx.'
          throw new HoldfastError('INVALID_ARGUMENT', message)
        }
        await retryWhileBusy(clock, () => db.exec('BEGIN IMMEDIATE'))
        try {
          const answer = await run({ database: db, storageTx: undefined })
          db.exec('COMMIT')
          return answer
        } catch (error) {
          // SQLite rolls back by itself when the disk is full.
          if (db.isTransaction) db.exec('ROLLBACK')
          throw error
        }
      }),
  }
}

async function openFile(path: string, clock: Clock): Promise<DatabaseSync> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs })
  try {
    await retryWhileBusy(clock, () =>
      database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = 1'),
    )
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Retries while another process holds the lock, without blocking the event loop. */
async function retryWhileBusy(clock: Clock, attempt: () => void): Promise<void> {
  const deadline = clock.monotonic() + waitMs
  for (let delayMs = 1; ; delayMs = Math.min(2 * delayMs, 20)) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || clock.monotonic() >= deadline) throw error
    }
    const jitteredMs = delayMs * (0.5 + clock.random())
    await new Promise<void>((resolve) => void clock.after(jitteredMs, resolve))
  }
}

/** SQLITE_BUSY or SQLITE_LOCKED. */
function isBusy(error: unknown): boolean {
  const { errcode } = error as { errcode?: unknown }
  return typeof errcode === 'number' && [5, 6].includes(errcode & 0xff)
}
