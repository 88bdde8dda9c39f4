// A's worker in its own process, to be killed: `worker.ts <path>`.

import { SqliteStorage } from 'holdfast/sqlite'
import { openSite } from './server.ts'

const [path] = process.argv.slice(2) as [string]
await openSite(new SqliteStorage({ path }), 'a', { leaseMs: 1_000 }).federation.startQueue(undefined)
