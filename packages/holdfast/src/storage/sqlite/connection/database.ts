// Opens a database file: how it is synced, who waits for whom, and its schema.

import { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../../clock.ts'
import { StorageError } from '../../../errors.ts'
import { whenFree } from './errors.ts'
import { isMigrated, migrate } from '../migrations.ts'

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
  const db = new DatabaseSync(path, { timeout: busyMs })
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
  return new DatabaseSync(path, { readOnly: true, timeout: 1_000 })
}
