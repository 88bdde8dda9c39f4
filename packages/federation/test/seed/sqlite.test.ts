// The sending side on SQLite: jobs and tables in one database.

import { sqlitePlace } from './sqlite-place.ts'
import { seedTests } from './suite.ts'

await seedTests(sqlitePlace)
