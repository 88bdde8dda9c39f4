// The sending side on SQLite: jobs and tables in one database.

import { SqliteStorage } from 'holdfast/sqlite'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { seedTests } from './suite.ts'

await seedTests({
  name: 'sqlite',
  open: async (clock) => {
    const storage = new SqliteStorage({ path: ':memory:', ...(clock && { clock }) })
    return { storage, store: sqliteStore({ storage }), close: async () => {} }
  },
})
