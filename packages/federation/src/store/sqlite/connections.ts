// Where a store on SQLite writes: a file or connection of its own, or the connection of a SqliteStorage, whose jobs can then
// be part of the same transaction.

import type { DatabaseSync } from 'node:sqlite'
import { type Clock, HoldfastError } from 'holdfast'
import type { SqliteStorage, SqliteTransaction } from 'holdfast/sqlite'
import { Turns } from './turns.ts'

export interface Writing {
  readonly database: DatabaseSync
  /** Undefined: no storage can join. */
  readonly storageTx: SqliteTransaction | undefined
}

export interface Writer {
  open(): Promise<void>
  close(): Promise<void>
  /** BEGIN IMMEDIATE, what `run` does, COMMIT; ROLLBACK if it rejects. One at a time. */
  transaction<T>(run: (writing: Writing) => Promise<T>): Promise<T>
}

/** The jobs' connection. It begins, commits, and waits for others, in its own way. */
export function storageWriter(storage: SqliteStorage): Writer {
  return {
    open: () => storage.connect(),
    close: () => storage.disconnect(),
    transaction: (run) => storage.transaction((tx) => run({ database: tx.database, storageTx: tx })),
  }
}

/** How long a call waits for its turn, or for another process, in ms. */
const patienceMs = 5_000
/** How long SQLite itself waits for another process, holding up this one. */
const busyMs = 5

/** A file, or ':memory:'; or a connection of the app's, which it closes itself. */
export function ownWriter(source: string | DatabaseSync, clock: Clock): Writer {
  const turns = new Turns(clock, patienceMs)
  let database: DatabaseSync | undefined
  return {
    async open() {
      database ??= typeof source === 'string' ? await openFile(source, clock) : source
    },
    async close() {
      await turns.idle()
      // What is in memory alone would be gone.
      if (source === ':memory:' || typeof source !== 'string') return
      database?.close()
      database = undefined
    },
    transaction: (run) =>
      turns.take(async () => {
        const db = database!
        // A sync of the disk is worth a turn of the event loop: what comes together is committed together.
        if (db.location() !== null) await new Promise<void>((resolve) => clock.soon(resolve))
        if (db.isTransaction) {
          throw new HoldfastError(
            'INVALID_ARGUMENT',
            'the database is in a transaction of the app’s: pass join(database)',
          )
        }
        await whenFree(clock, () => db.exec('BEGIN IMMEDIATE'))
        try {
          const answer = await run({ database: db, storageTx: undefined })
          db.exec('COMMIT')
          return answer
        } catch (error) {
          // A full disk may have rolled it back already.
          if (db.isTransaction) db.exec('ROLLBACK')
          throw error
        }
      }),
  }
}

async function openFile(path: string, clock: Clock): Promise<DatabaseSync> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(path, { timeout: busyMs })
  try {
    await whenFree(clock, () =>
      database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = 1'),
    )
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Tries again while another process has the lock, without holding up this one. */
async function whenFree(clock: Clock, attempt: () => void): Promise<void> {
  const deadline = clock.monotonic() + patienceMs
  for (let waitMs = 1; ; waitMs = Math.min(2 * waitMs, 20)) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || clock.monotonic() >= deadline) throw error
    }
    const jitteredMs = waitMs * (0.5 + clock.random())
    await new Promise<void>((resolve) => void clock.after(jitteredMs, resolve))
  }
}

/** SQLITE_BUSY or SQLITE_LOCKED. */
function isBusy(error: unknown): boolean {
  const { errcode } = error as { errcode?: unknown }
  return typeof errcode === 'number' && [5, 6].includes(errcode & 0xff)
}
