// SQLite in memory, storage and tables in one database: for tests that do not depend on the driver.

import { SqliteStorage } from 'holdfast/sqlite'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Place } from './bench.ts'

export const sqlitePlace: Place = {
  name: 'sqlite',
  open: async (clock) => {
    const storage = new SqliteStorage({ path: ':memory:', ...(clock && { clock }) })
    return { storage, store: sqliteStore({ storage }), close: async () => {} }
  },
}
