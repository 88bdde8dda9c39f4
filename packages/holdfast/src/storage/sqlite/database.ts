// Opens a database file: how it is synced, who waits for whom, and its schema.

import { DatabaseSync } from 'node:sqlite'
import { migrate } from './migrations.ts'

export type Durability = 'full' | 'relaxed'

/** How long SQLite itself waits for another process's lock, holding up this one; the rest of the time is waited for outside. */
const busyMs = 5

export function openDatabase(path: string, durability: Durability): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 5_000 })
  try {
    db.exec('PRAGMA journal_mode = WAL')
    db.exec(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
    // Elsewhere it has no effect. On macOS a plain fsync leaves the bytes in the drive.
    db.exec(`PRAGMA fullfsync = ${durability === 'full' ? 1 : 0}`)
    // In pages and KiB: fewer checkpoints, and room for the ends of the indexes of a long backlog.
    db.exec('PRAGMA wal_autocheckpoint = 4000')
    db.exec('PRAGMA cache_size = -16000')
    db.exec('BEGIN IMMEDIATE')
    try {
      migrate(db)
      db.exec('COMMIT')
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK')
      throw error
    }
    db.exec(`PRAGMA busy_timeout = ${busyMs}`)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** For reads: they wait for nobody, and nobody for them. */
export function openReader(path: string): DatabaseSync {
  return new DatabaseSync(path, { readOnly: true, timeout: 1_000 })
}
