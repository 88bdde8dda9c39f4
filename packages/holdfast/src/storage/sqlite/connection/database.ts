// Opens a database: its settings for syncing and locking, and its schema.

import type { DatabaseSync, DatabaseSyncOptions } from 'node:sqlite'
import type { Clock } from '../../../clock.ts'
import { isMigrated, migrate } from '../migrations.ts'
import { whenFree } from './errors.ts'

// Not a static import: an older Node.js would fail to resolve it before node-version.ts can say so, and some bundlers and test
// runners do not know the module.
const sqlite = process.getBuiltinModule('node:sqlite') as typeof import('node:sqlite') | undefined

export type Durability = 'full' | 'relaxed'

/** Longest time in ms that SQLite itself waits for a lock: it blocks the event loop. Longer waits are in whenFree(). */
const busyMs = 5

/**
 * openError() turns what it throws into a StorageError, with the path and a cause.
 * @param patienceMs longest time that it waits for the lock of another process, in ms
 */
export async function openDatabase(
  path: string,
  durability: Durability,
  clock: Clock,
  patienceMs: number,
): Promise<DatabaseSync> {
  const db = open(path, { timeout: busyMs })
  const deadline = clock.monotonic() + patienceMs
  try {
    await whenFree(
      clock,
      () => prepare(db, durability),
      () => clock.monotonic() >= deadline,
    )
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** May run again from its beginning after a lock made it fail. */
function prepare(db: DatabaseSync, durability: Durability): void {
  const [mode] = Object.values(db.prepare('PRAGMA journal_mode = WAL').get()!)
  if (mode !== 'wal' && mode !== 'memory') {
    throw new Error(`its journal mode is '${mode}', not WAL. Use a file on a local disk.`)
  }
  db.exec(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
  // For macOS, where a plain fsync leaves the bytes in the cache of the drive. Elsewhere it has no effect.
  db.exec(`PRAGMA fullfsync = ${durability === 'full' ? 1 : 0}`)
  // In pages and KiB: fewer checkpoints, and a cache that holds the ends of the indexes of a long backlog.
  db.exec('PRAGMA wal_autocheckpoint = 4000')
  db.exec('PRAGMA cache_size = -16000')
  // Without a step to do, it need not wait for the lock.
  if (isMigrated(db)) return
  db.exec('BEGIN IMMEDIATE')
  try {
    migrate(db)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/** A connection for reads: they neither wait for writes nor block them. */
export function openReader(path: string): DatabaseSync {
  return open(path, { readOnly: true, timeout: 1_000 })
}

function open(path: string, options: DatabaseSyncOptions): DatabaseSync {
  if (sqlite) return new sqlite.DatabaseSync(path, options)
  throw new Error('this runtime has no node:sqlite. Run the program with Node.js or Deno, or use another storage.')
}
