// Holdfast on SQLite, by durability.

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SqliteStorage } from 'holdfast/sqlite'
import type { Contender, Durability } from '../contender.ts'
import { sqliteDiskUsage } from '../disk-usage.ts'
import { holdfastDefaults, holdfastSession } from './holdfast.ts'

const pathIn = (place: string): string => join(place, 'jobs.db')

export function holdfastOnSqlite(name: string, durability: Durability): Contender {
  const synchronous = durability === 'full' ? 'FULL' : 'NORMAL'
  return {
    name,
    driver: 'sqlite',
    package: 'holdfast',
    isPeer: false,
    isShared: true,
    durability,
    configuration:
      `SqliteStorage, durability ${durability} (WAL, synchronous ${synchronous}); node:sqlite, ` +
      `SQLite ${process.versions['sqlite']}; ${holdfastDefaults}`,

    async setup(settings, place) {
      const path = pathIn(place)
      const session = await holdfastSession(new SqliteStorage({ path, durability }), settings)
      return { ...session, storedBytes: async () => storedBytes(place, path) }
    },

    openStorage: async (place) => new SqliteStorage({ path: pathIn(place), durability }),
  }
}

function storedBytes(place: string, path: string): number {
  const database = new DatabaseSync(path)
  try {
    return sqliteDiskUsage(place, (text) => database.prepare(`PRAGMA ${text}`).get() as Record<string, number>)
  } finally {
    database.close()
  }
}
