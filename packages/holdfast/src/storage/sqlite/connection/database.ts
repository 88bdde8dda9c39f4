// Opens a database file: how it is synced, who waits for whom, and its schema.

import type { DatabaseSync, DatabaseSyncOptions } from 'node:sqlite'
import type { Clock } from '../../../clock.ts'
import { StorageError } from '../../../errors.ts'
import { whenFree } from './errors.ts'
import { isMigrated, migrate } from '../migrations.ts'

// Not a static import: an older Node.js would fail to resolve it before node-version.ts can say so, and some bundlers and test
// runners do not know the module.
const sqlite = process.getBuiltinModule('node:sqlite') as typeof import('node:sqlite') | undefined

export type Durability = 'full' | 'relaxed'

/** How long SQLite itself waits for another process's lock, holding up this one; the rest of the time is waited for outside. */
const busyMs = 5

/** @param patienceMs how long to wait for another process that holds the lock */
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

/** May be done again from its beginning, if a lock stood in the way. */
function prepare(db: DatabaseSync, durability: Durability): void {
  const [mode] = Object.values(db.prepare('PRAGMA journal_mode = WAL').get()!)
  if (mode !== 'wal' && mode !== 'memory') {
    throw new StorageError(`the SQLite database cannot have a write-ahead log here: its journal mode is ${mode}`, {
      maybeApplied: false,
    })
  }
  db.exec(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
  // Elsewhere it has no effect. On macOS a plain fsync leaves the bytes in the drive.
  db.exec(`PRAGMA fullfsync = ${durability === 'full' ? 1 : 0}`)
  // In pages and KiB: fewer checkpoints, and room for the ends of the indexes of a long backlog.
  db.exec('PRAGMA wal_autocheckpoint = 4000')
  db.exec('PRAGMA cache_size = -16000')
  // Only who has something to change waits for the lock.
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

/** For reads: they wait for nobody, and nobody for them. */
export function openReader(path: string): DatabaseSync {
  return open(path, { readOnly: true, timeout: 1_000 })
}

function open(path: string, options: DatabaseSyncOptions): DatabaseSync {
  if (sqlite) return new sqlite.DatabaseSync(path, options)
  throw new StorageError(
    'SQLite: this runtime has no node:sqlite. The database was not opened. Run the program with Node.js or Deno, or use another storage.',
    { maybeApplied: false },
  )
}
